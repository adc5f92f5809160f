using System.Runtime.Versioning;

namespace Millrace.Architecture.Tests;

/// <summary>The measured part of docs/performance.md is made of a run's file, and of nothing else.</summary>
[SupportedOSPlatform("linux")]
public sealed class PerformanceReportTests : IDisposable
{
    private const string Begin = "<!-- measured: begin -->";
    private const string End = "<!-- measured: end -->";

    /// <summary>What only bench/run has beside its cells: bench/kestrel counts no calls.</summary>
    private const string RunSections = "\"failures\": {}, \"calls\": [],";

    private readonly string _folder = Directory.CreateTempSubdirectory("millrace-report-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void The_page_has_a_place_for_it()
    {
        string page = File.ReadAllText(Path.Combine(Repository.Root, "docs", "performance.md"));

        Assert.Equal(2, page.Split(Begin).Length);
        Assert.Equal(2, page.Split(End).Length);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public void The_page_says_what_the_kept_results_say()
    {
        string page = Path.Combine(Repository.Root, "docs", "performance.md");
        string readme = Path.Combine(Repository.Root, "README.md");
        Directory.CreateDirectory(Documents);
        File.Copy(page, Path.Combine(Documents, "performance.md"));
        File.Copy(readme, Readme);

        Said("--into", Documents, "--report");

        Assert.Equal(File.ReadAllText(page), File.ReadAllText(Path.Combine(Documents, "performance.md")));
        Assert.Equal(File.ReadAllText(readme), File.ReadAllText(Readme));
        Dictionary<string, string> pictures = Pictures(Documents);
        Assert.NotEmpty(pictures);
        Assert.Equal(Pictures(Path.Combine(Repository.Root, "docs")), pictures);
    }

    [Fact]
    public void A_report_begins_with_where_another_is_ahead_and_judges_each_goal_by_the_quartiles_of_the_rounds_ratios()
    {
        // Beside lighttpd the second round alone was won. That limit's first cell was thrown away leaves 11 / 10.
        string page = Report(
            Cell("limit", 0, 1, "others ran"), Cell("limit", 1, 10), Cell("lighttpd", 0, 10), Cell("lighttpd", 1, 14), Cell("lighttpd", 2, 9),
            Cell("nginx", 0, 18), Cell("nginx", 1, 22), Cell("nginx", 2, 16), Cell("millrace", 0, 12), Cell("millrace", 1, 11),
            Cell("millrace", 2, 10), Cell("nginx", 0, 9, row: "404"), Cell("millrace", 0, 12, row: "404"));

        const string Behind = "| 10 KB | 64 | lighttpd | 0.90 (0.87–1.09) | - | 1.10 (1.10–1.10) | at most 1.06 x limit: missed |";
        Assert.Contains("| a missing file | 64 | nginx | 0.75 (0.75–0.75) |", page, StringComparison.Ordinal);
        Assert.Contains(Behind.Replace(" - |", "", StringComparison.Ordinal), page, StringComparison.Ordinal);
        Assert.True(page.IndexOf("a missing file", StringComparison.Ordinal) < page.IndexOf("| 10 KB |", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(10, 10, 10, "met")]
    [InlineData(10, 12, 10, "open")]
    [InlineData(11, 10, 12, "open")]
    [InlineData(11, 12, 13, "missed")]
    public void A_goal_between_the_quartiles_is_open(int first, int second, int third, string verdict)
    {
        string page = Report(
            Cell("limit", 0, 10), Cell("limit", 1, 10), Cell("limit", 2, 10), Cell("nginx", 0, 20), Cell("millrace", 0, first),
            Cell("millrace", 1, second), Cell("millrace", 2, third));

        Assert.Contains($"| at most 1.06 x limit: {verdict} |", page, StringComparison.Ordinal);
    }

    [Fact]
    public void A_proxy_stands_beside_the_cheaper_of_the_others_with_a_goal_for_each()
    {
        string page = ReportOf(StoredOf(
            "proxy", Commit("0123456789abcdef"), "\"failures\": [],", Proxied("millrace", 10), Proxied("nginx", 11), Proxied("haproxy", 14)));

        Assert.Contains("| `bench/proxy`: http-1k-64 | 64 | nginx | 1.10 (1.10–1.10) | nginx at least 1.2 x: missed; haproxy at least 1.0 x: met |",
            page, StringComparison.Ordinal);
    }

    [Fact]
    public void What_people_wrote_stays_and_what_was_measured_before_goes()
    {
        string page = Report(Cell("limit", 0, 10), Cell("millrace", 0, 11));

        Assert.StartsWith($"Words before.\n{Begin}\n", page, StringComparison.Ordinal);
        Assert.EndsWith($"\n{End}\nWords behind.\n", page, StringComparison.Ordinal);
        Assert.DoesNotContain("Old figures", page, StringComparison.Ordinal);
        Assert.False(File.Exists(Path.Combine(Documents, "images", "performance-old.svg")));
        Assert.Contains("](images/performance-10k.svg)", page, StringComparison.Ordinal);
        Assert.StartsWith("<svg ", File.ReadAllText(Path.Combine(Documents, "images", "performance-10k.svg")), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("10k", "[![10 KB, 64 connections: CPU time for each request, by server](docs/images/performance-headline.svg)]")]
    [InlineData("1k", "")]
    public void The_readme_shows_the_headline_where_it_was_measured_and_none_of_before_where_not(string row, string picture)
    {
        const string Before = "# Millrace\n<!-- headline: begin -->\n";
        const string Behind = "<!-- headline: end -->\nWords.\n";
        File.WriteAllText(Readme, $"{Before}![Old](docs/images/performance-old.svg)\n{Behind}");

        Report(Cell("limit", 0, 10, row: row), Cell("millrace", 0, 11, row: row));

        string text = File.ReadAllText(Readme);
        Assert.StartsWith(Before + picture, text, StringComparison.Ordinal);
        Assert.EndsWith(picture.Length == 0 ? Before + Behind : $"\n{Behind}", text, StringComparison.Ordinal);
    }

    [Fact]
    public void The_headline_has_a_line_for_each_server_with_the_cheaper_of_two_configurations()
    {
        Report(
            Cell("limit", 0, 9), Cell("caddy", 0, 36), Cell("millrace", 0, 10), Cell("millrace-pipe", 0, 11), Cell("nginx", 0, 14),
            Cell("nginx-copy", 0, 12));

        string picture = File.ReadAllText(Path.Combine(Documents, "images", "performance-headline.svg"));
        string[] labels = [.. picture.Split('\n').Where(line => line.Contains("text-anchor", StringComparison.Ordinal))
            .Select(line => line.Split('>')[1].Split('<')[0])];
        Assert.Equal(["Millrace", "nginx", "Caddy"], labels);
        Assert.Contains(">12.0<", picture, StringComparison.Ordinal);
    }

    [Fact]
    public void An_option_is_compared_with_the_server_without_it_in_the_same_round()
    {
        string page = Report(
            Cell("millrace", 0, 10, row: "options"), Cell("millrace-polled", 0, 12, row: "options"), Cell("millrace", 1, 20, row: "options"),
            Cell("millrace-polled", 1, 32, row: "options"), Cell("millrace-bbr", 0, 9, row: "options"),
            Cell("millrace-bbr", 1, 22, row: "options"), Cell("millrace", 2, 10, row: "options"),
            Cell("millrace-polled", 2, 14, row: "options"), Cell("millrace-zero-copy", 0, 12, row: "options"),
            Cell("millrace-zero-copy", 1, 28, row: "options"));

        Assert.Contains("| option | 10 KB x 64 |", page, StringComparison.Ordinal);
        Assert.Contains("| `--submission-polling 20` | **1.40 (1.30–1.50)** |", page, StringComparison.Ordinal);
        Assert.Contains("| `--congestion-control bbr` | 1.00 (0.95–1.05) |", page, StringComparison.Ordinal);
        Assert.Contains("| `--zero-copy-send 4k` | 1.30 (1.25–1.35) |", page, StringComparison.Ordinal);
        Assert.DoesNotContain("`--pin-reactors` |", page, StringComparison.Ordinal);
    }

    [Fact]
    public void The_cheapest_way_of_each_size_is_marked_beside_the_sizes_that_decide()
    {
        string page = Report(
            Cell("millrace-memory", 0, 10, row: "ways-64k"), Cell("millrace-read", 0, 12, row: "ways-64k"),
            Cell("millrace-memory", 0, 40, row: "ways-256k"), Cell("millrace-read", 0, 30, row: "ways-256k"));

        Assert.Contains("| 64K | **10.0** | 12.0 | - | - | - | - |", page, StringComparison.Ordinal);
        Assert.Contains("| 256K | 40.0 | **30.0** | - | - | - | - |", page, StringComparison.Ordinal);
        Assert.Contains("up to `--cache-max-file` 64k are kept in memory, and those up to `--read-max` 256k", page, StringComparison.Ordinal);
    }

    [Fact]
    public void Who_serves_old_versions_is_marked_by_the_worst_of_the_rounds()
    {
        string page = Report(
            Cell("nginx", 0, 10, row: "deploy", more: "\"stale_s\": 0.5"), Cell("nginx", 1, 10, row: "deploy", more: "\"stale_s\": 41.26"),
            Cell("nginx", 2, 10, row: "deploy", more: "\"stale_s\": 0.25"), Cell("h2o", 0, 15, row: "deploy", more: "\"stale_s\": 0.004"),
            Cell("millrace", 0, 20, row: "deploy", more: "\"stale_s\": 1.0"));

        Assert.Contains("| 10 KB pages, all replaced every half second | 64 | nginx (old versions) | 0.50", page, StringComparison.Ordinal);
    }

    [Fact]
    public void What_is_done_on_the_loads_core_is_counted_beside()
    {
        // 10 us at half of its core, and 20 of the load's; 8 at a quarter, and 32.
        string page = Report(
            Cell("millrace", 0, 10, row: "1m", more: "\"busy_share\": 0.5, \"load_busy_share\": 1.0"),
            Cell("lwan", 0, 8, row: "1m", more: "\"busy_share\": 0.25, \"load_busy_share\": 1.0"));

        Assert.Contains("| 1 MB | 64 | lwan | 0.80 (0.80–0.80) | 1.33 (1.33–1.33) |", page, StringComparison.Ordinal);
    }

    [Fact]
    public void Transports_stand_beside_sockets_with_the_median_of_their_windows_percentiles_and_a_round_without_any_has_none()
    {
        string page = ReportOf(StoredOf(
            "kestrel", Commit("0123456789abcdef"), "", Transport("sockets", 0, 20, [900]),
            Transport("millrace", 0, 10, [200, 300, 9000]), Transport("sockets", 1, 20, [1000]),
            Transport("millrace", 1, 8, [], "the rate was not reached"), Transport("before", 0, 5, []), Transport("before", 1, 5, [])));

        Assert.Contains("| `bench/kestrel`: plaintext | 64 | sockets | 2.25 (2.12–2.38) | sockets at least 1.8 x: met; "
            + "p99 at an equal rate: at most 0.33 x sockets, 0.33 (0.33–0.33): ", page, StringComparison.Ordinal);
    }

    [Fact]
    public void A_plan_has_the_rows_that_were_asked_for_with_whom_they_compare()
    {
        const string Servers = "nginx,map-static-assets,nginx-threads,nginx-uncached,millrace,millrace-read";
        string plan = Said("--plan", "--rows", "deploy,cold", "--servers", Servers);

        Assert.Matches(@"(?m)^deploy +x 64 +one +3 servers ", plan);
        Assert.Matches(@"(?m)^cold +x 64 +one +3 servers ", plan);
    }

    [Theory]
    [InlineData("0123456789abcdef", null, null, "1.10 (1.05–1.15)")]
    [InlineData("another", null, null, "1.20 (1.20–1.20)")]
    [InlineData("another", "1 2", "1 2", "1.10 (1.05–1.15)")]
    [InlineData("another", "1 2", "1 3", "1.20 (1.20–1.20)")]
    [InlineData("another", "1 2", "1 2", "1.20 (1.20–1.20)", 2)]
    public void Rounds_of_several_files_count_where_the_same_was_measured_alike_and_else_the_last_ones(
        string commit, string? firstProgram, string? secondProgram, string ratio, int? secondMethod = null)
    {
        // Of the same number, but of other runs: 24 beside 10 is no ratio.
        string first = StoredOf(
            "first", Commit("0123456789abcdef", firstProgram), RunSections, Cell("limit", 0, 10), Cell("nginx", 0, 10), Cell("millrace", 0, 10));
        string second = StoredOf(
            "second", Commit(commit, secondProgram, secondMethod), RunSections, Cell("limit", 0, 20), Cell("nginx", 0, 24),
            Cell("millrace", 0, 24));

        Assert.Contains($"| 10 KB | 64 | nginx | 1.00 (1.00–1.00) | {ratio} |", ReportOf(first, second), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(null, "of each server's own choice")]
    [InlineData("cubic", "congestion control of all servers: cubic.")]
    public void The_page_says_of_what_it_is_made_and_under_which_congestion_control(string? control, string said)
    {
        string more = control is null ? "" : $", \"congestion_control\": \"{control}\"";
        string page = ReportOf(
            StoredOf("gone", Commit("gone") + more, RunSections, Cell("millrace", 0, 10, row: "1k")),
            StoredOf("old", Commit("old") + more, RunSections, Cell("millrace", 0, 10), Cell("millrace", 0, 10, row: "1k")),
            StoredOf("new", Commit("new") + more, RunSections, Cell("millrace", 0, 10, row: "1k")));

        Assert.Contains("Measured 2026-01-01, with builds of 2 commits, the last commit new; ", page, StringComparison.Ordinal);
        Assert.Contains(said, page, StringComparison.Ordinal);
    }

    private string Readme => Path.Combine(_folder, "README.md");

    private string Documents => Path.Combine(_folder, "docs");

    private string Report(params string[] cells) => ReportOf(Stored("run", "0123456789abcdef", cells));

    private string Stored(string name, string commit, params string[] cells) => StoredOf(name, Commit(commit), RunSections, cells);

    private string StoredOf(string name, string commit, string sections, params string[] cells)
    {
        string file = Path.Combine(_folder, $"{name}.json");
        File.WriteAllText(file, $$"""
            {
              "conditions": {
                "date": "2026-01-01T00:00:00", {{commit}}, "dirty": false, "cpu": "a cpu", "kernel": "6.1",
                "rounds": 3, "seconds": 1, "sizes": { "cache-max-file": "64k", "read-max": "256k" }
              },
              {{sections}} "cells": [{{string.Join(",", cells)}}]
            }
            """);
        return file;
    }

    private string ReportOf(params string[] files)
    {
        Directory.CreateDirectory(Path.Combine(Documents, "images"));
        File.WriteAllText(Path.Combine(Documents, "images", "performance-old.svg"), "");
        File.WriteAllText(Path.Combine(Documents, "performance.md"), $"Words before.\n{Begin}\nOld figures.\n{End}\nWords behind.\n");
        Said(["--into", Documents, "--report", .. files]);
        return File.ReadAllText(Path.Combine(Documents, "performance.md"));
    }

    private static string Commit(string name, string? program = null, int? method = null) =>
        $"\"commit\": \"{name}\"{(program is null ? "" : $", \"program\": \"{program}\"")}{(method is null ? "" : $", \"method\": {method}")}";

    private static Dictionary<string, string> Pictures(string documents) =>
        Directory.GetFiles(Path.Combine(documents, "images"), "performance-*.svg")
            .ToDictionary(static path => Path.GetFileName(path), File.ReadAllText);

    private static string Said(params string[] arguments) =>
        Python.Said("bench/harness", [Path.Combine(Repository.Root, "bench", "comparison"), .. arguments]);

    private static string Proxied(string server, int costUs) => $$"""
        {"server": "{{server}}", "row": "http-1k-64", "round": 0, "us_per_request": {{costUs}}, "requests_per_s": 1000.0, "core_busy": 1.0, "faults": []}
        """;

    private static string Transport(
        string name, int round, int costUs, int[] p99sUs, string? pacedFault = null) => $$"""
        {
          "row": "plaintext", "cores": "one", "connections": 64, "transport": "{{name}}", "round": {{round}}, "core_us": {{costUs}},
          "process_us": 1, "requests_per_s": 1000, "is_load_bound": false, "faults": [],
          "p99s_us": [{{string.Join(", ", p99sUs)}}], "paced_faults": [{{(pacedFault is null ? "" : $"\"{pacedFault}\"")}}]
        }
        """;

    private static string Cell(string server, int round, int costUs, string? fault = null, string row = "10k", string? more = null) => $$"""
        {
          "row": "{{row}}", "cores": "one", "connections": 64, "server": "{{server}}", "round": {{round}}, "core_us_per_request": {{costUs}},
          "requests_per_s": 1000, "resident_bytes": 1000000, {{(more is null ? "" : $"{more},")}}
          "faults": [{{(fault is null ? "" : $"\"{fault}\"")}}]
        }
        """;
}
