using System.ComponentModel;
using System.Diagnostics;
using System.Runtime.Versioning;

namespace Millrace.House.Tests;

/// <summary>The measured part of docs/performance.md is made of a run's file, and of nothing else.</summary>
[SupportedOSPlatform("linux")]
public sealed class PerformanceReportTests : IDisposable
{
    private const string Begin = "<!-- measured: begin -->";
    private const string End = "<!-- measured: end -->";

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
    public void A_report_begins_with_who_is_ahead_and_judges_each_goal_by_the_median_of_the_rounds_ratios()
    {
        // Beside lighttpd the second round alone was won. That limit's first cell was thrown away leaves 11 / 10.
        string page = Report(
            Cell("limit", 0, 1, "others ran"), Cell("limit", 1, 10), Cell("lighttpd", 0, 10), Cell("lighttpd", 1, 14), Cell("lighttpd", 2, 9),
            Cell("nginx", 0, 18), Cell("nginx", 1, 22), Cell("nginx", 2, 16), Cell("nginx-copy", 0, 12), Cell("nginx-copy", 1, 11),
            Cell("nginx-copy", 2, 10), Cell("millrace", 0, 12), Cell("millrace", 1, 11), Cell("millrace", 2, 10));

        Assert.Contains("| 10 KB | 64 | one | lighttpd | 1.11 (0.95–1.16) |", page, StringComparison.Ordinal);
        Assert.Contains("| millrace | nginx costs at least 1.4 x | 1.00 (1.00–1.00), nginx-copy | missed |", page, StringComparison.Ordinal);
        Assert.Contains("| at most 1.06 x limit (1.12 passes) | 1.10 (1.10–1.10) | passes |", page, StringComparison.Ordinal);
        Assert.Contains("| lwan costs at least 1.0 x | - | not measured: not in Debian |", page, StringComparison.Ordinal);
        Assert.True(page.IndexOf("lighttpd | 1.11", StringComparison.Ordinal) < page.IndexOf("missed", StringComparison.Ordinal));
    }

    [Fact]
    public void What_people_wrote_stays_and_what_was_measured_before_goes()
    {
        string page = Report(Cell("limit", 0, 10), Cell("millrace", 0, 11));

        Assert.StartsWith($"Words before.\n{Begin}\n", page, StringComparison.Ordinal);
        Assert.EndsWith($"\n{End}\nWords behind.\n", page, StringComparison.Ordinal);
        Assert.DoesNotContain("Old figures", page, StringComparison.Ordinal);
        Assert.False(File.Exists(Path.Combine(_folder, "images", "performance-old.svg")));
        Assert.Contains("](images/performance-10k.svg)", page, StringComparison.Ordinal);
        Assert.StartsWith("<svg ", File.ReadAllText(Path.Combine(_folder, "images", "performance-10k.svg")), StringComparison.Ordinal);
    }

    private string Report(params string[] cells)
    {
        Directory.CreateDirectory(Path.Combine(_folder, "images"));
        File.WriteAllText(Path.Combine(_folder, "images", "performance-old.svg"), "");
        File.WriteAllText(Path.Combine(_folder, "performance.md"), $"Words before.\n{Begin}\nOld figures.\n{End}\nWords behind.\n");
        string file = Path.Combine(_folder, "run.json");
        File.WriteAllText(file, $$"""
            {
              "conditions": {
                "date": "2026-01-01T00:00:00", "commit": "0123456789abcdef", "dirty": false, "cpu": "a cpu", "kernel": "6.1",
                "rounds": 3, "seconds": 1
              },
              "failures": {}, "calls": [], "cells": [{{string.Join(",", cells)}}]
            }
            """);
        string program = Path.Combine(Repository.Root, "bench", "comparison");
        ProcessStartInfo start = new("python3", ["-B", program, "--report", file, "--into", _folder])
        {
            RedirectStandardError = true,
            RedirectStandardOutput = true,
        };
        using Process? process = Begun(start);
        Assert.SkipUnless(process is not null, "python3 is missing");
        string said = process.StandardOutput.ReadToEnd() + process.StandardError.ReadToEnd();
        process.WaitForExit();
        Assert.True(process.ExitCode == 0, said);
        return File.ReadAllText(Path.Combine(_folder, "performance.md"));
    }

    private static Process? Begun(ProcessStartInfo start)
    {
        try
        {
            return Process.Start(start);
        }
        catch (Win32Exception)
        {
            return null;
        }
    }

    private static string Cell(string server, int round, int costUs, string? fault = null) => $$"""
        {
          "row": "10k", "cores": "one", "connections": 64, "server": "{{server}}", "round": {{round}}, "core_us_per_request": {{costUs}},
          "requests_per_s": 1000, "resident_bytes": 1000000, "faults": [{{(fault is null ? "" : $"\"{fault}\"")}}]
        }
        """;
}
