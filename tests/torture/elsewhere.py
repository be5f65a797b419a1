"""Rows whose tests are not cases of the torture server: row → tests that hold it, each as `file::function`. What stands
in `nephila.testing.contract` runs against every store."""

from __future__ import annotations

WAITING = frozenset({"L11"})
"""Rows about a part that is not there yet: the engine outside."""

ELSEWHERE: dict[str, tuple[str, ...]] = {
    "D5": ("../src/nephila/testing/contract/retries.py::test_a_host_that_comes_back_after_five_minutes_loses_nothing",),
    "D6": ("../src/nephila/testing/contract/retries.py::test_a_dead_host_is_probed_and_not_asked_for_each_url",),
    "D8": (
        "../src/nephila/testing/contract/network.py::test_an_outage_changes_no_outcome",
        "../src/nephila/testing/contract/network.py::test_a_machine_that_slept",
        "proofs/test_link_down.py::test_an_outage_of_some_seconds_changes_nothing",
    ),
    "E2": ("attacks/test_attacks_inside.py::test_name_that_leads_inside_the_second_time",),
    "E3": (
        "fetch/test_dns.py::test_either_family_is_reached",
        "fetch/test_dns.py::test_where_the_newer_family_swallows_packets_the_older_one_is_tried",
    ),
    "I7": ("robots/test_robots_crawls.py::test_rules_are_those_of_scheme_host_and_port",),
    "I8": (
        "robots/test_robots_crawls.py::test_rules_that_change_during_a_crawl_count_after_a_day",
        "robots/test_robots_crawls.py::test_rules_are_asked_for_again_when_a_crawl_goes_on_next_day",
    ),
    "K1": ("views/test_views_names.py::test_long_names_are_cut_and_stay_apart",),
    "K2": ("views/test_views_names.py::test_names",),
    "K3": ("views/test_views_names.py::test_two_urls_never_share_a_name",),
    "K4": ("views/test_views_names.py::test_a_file_and_a_folder_of_one_name",),
    "K5": ("views/test_views_names.py::test_two_urls_never_share_a_name",),
    "K6": ("views/test_views_names.py::test_names",),
    "K7": ("views/test_views_names.py::test_hosts_ports_and_our_own_files",),
    "K8": ("views/test_views_names.py::test_two_urls_never_share_a_name",),
    "K9": (
        "views/test_views_mirror.py::test_a_failed_refetch_keeps_the_old_copy_and_a_good_one_replaces_it",
        "views/test_views_mirror_again.py::test_a_failed_refetch_keeps_the_file_as_it_is",
    ),
    "K10": (
        "views/test_views_mirror.py::test_a_symbolic_link_is_never_written_through",
        "views/test_views_mirror_again.py::test_a_file_of_somebody_else_is_never_overwritten",
    ),
    "L1": ("crash/test_fault_points.py::test_every_step", "crash/test_kills.py::test_kills_by_progress"),
    "L2": (
        "commands/test_commands_steering.py::test_one_signal_drains",
        "commands/test_commands_steering.py::test_a_second_signal_stops_at_once",
    ),
    "L3": (
        "commands/test_commands_folder.py::test_a_full_disk_ends_with_6_and_loses_nothing",
        "commands/test_commands_folder.py::test_a_file_that_may_not_grow_ends_with_6",
    ),
    "L4": (
        "commands/test_commands_starved.py::test_few_descriptors_cost_speed_and_no_url",
        "commands/test_commands_starved.py::test_kept_connections_of_many_hosts_leave_room",
    ),
    "L5": ("crew/test_crew.py::test_a_page_that_makes_its_worker_fat_is_charged",),
    "L6": (
        "../src/nephila/testing/contract/network.py::test_a_machine_that_slept",
        "../src/nephila/testing/contract/network.py::test_the_pause_outlives_an_outage_and_a_sleep",
        "frontier/test_clock_jumps.py::test_a_clock_that_is_set_changes_no_pause",
        "proofs/test_link_down.py::test_an_outage_of_some_seconds_changes_nothing",
    ),
    "L7": (
        "commands/test_commands_folder.py::test_damage_is_named_and_nothing_starts_afresh",
        "commands/test_commands_folder.py::test_what_an_archive_file_lost_is_fetched_again",
        "commands/test_commands_folder.py::test_a_deleted_log_begins_anew",
        "archive/test_archive_repair.py::test_any_flipped_byte_of_the_last_group_is_found",
        "archive/test_archive_repair.py::test_zeros_in_place_of_the_last_group",
    ),
    "L8": (
        "commands/test_commands_folder.py::test_two_crawls_at_the_same_instant",
        "commands/test_commands_folder.py::test_the_lock_of_a_killed_crawl_is_no_obstacle",
    ),
    "L9": (
        "frontier/test_resume.py::test_a_wider_scope_queues_what_was_refused",
        "commands/test_commands_resume.py::test_a_wider_scope",
        "commands/test_commands_resume.py::test_what_is_fixed_is_refused",
        "frontier/test_load_known.py::test_an_old_database_is_brought_up_to_date",
    ),
    "L10": ("crew/test_crew.py::test_settlements_count_before_the_archive_is_cut_and_leases_return_after",),
    "L12": (
        "commands/test_commands_library.py::test_hooks_by_moment",
        "commands/test_commands_library.py::test_a_hook_that_returns_what_json_cannot_hold",
        "commands/test_commands_library.py::test_hooks_in_workers",
    ),
    "L13": (
        "commands/test_commands_steering.py::test_a_reader_that_leaves_early",
        "commands/test_commands_folder.py::test_a_log_that_cannot_be_written_stops_nothing",
    ),
    "L14": (
        "proofs/test_memory.py::test_memory_after_100_000_pages_is_that_after_20_000",
        "frontier/test_evict_hosts.py::test_the_same_crawl_with_few_places",
    ),
    "L15": (
        "views/test_views_mirror.py::test_no_drafts_are_left",
        "views/test_views_mirror.py::test_a_full_disk_leaves_no_half_file",
        "views/test_views_tables.py::test_a_table_that_fails_leaves_the_old_one",
    ),
}
