using System.Runtime.Versioning;

namespace Millrace.Architecture.Tests;

[SupportedOSPlatform("linux")]
public class HarnessTests
{
    private const string Modules = "bench/harness";

    [Fact]
    public void What_another_server_of_a_run_does_is_what_others_do()
    {
        // Each has a bit of its own, so that the sum says who is in it.
        string ran = Said("""
            import os, session
            us, ours, server, another = os.getpid(), os.getsid(0), 1000, 2000
            table = {
                server: (us, server, 1), server + 1: (server, server, 2),
                another: (us, another, 4), another + 1: (another, another, 8),
                us: (1, ours, 16), us + 1: (us, ours, 32),
                2: (0, 0, 64), 50: (2, 0, 128), 3000: (1, 3000, 256),
            }
            session._stats = lambda: [
                (pid, ["S", str(parent), "0", str(of), *["0"] * 7, str(ticks), "0", "0", "0"])
                for pid, (parent, of, ticks) in table.items()]
            print(round(session.others_ran_s(server) * os.sysconf("SC_CLK_TCK")))
            """);

        Assert.Equal($"{4 + 8 + 256}", ran);
    }

    [Theory]
    [InlineData("[0, 0], [1, 1]", 1)]
    [InlineData("[0, 0], [2, 0], [2, 0], [3, 0]", 2)]
    [InlineData("[0, 0], [0, 20], [0, 20], [0, 22], [0, 22], [0, 22]", 3)]
    public void A_window_begins_once_both_cores_rest(string ticks, int waits)
    {
        string slept = Said($$"""
            import window
            seen, slept = iter([{{ticks}}]), []
            window.busy_ticks = lambda: next(seen)
            window.time.sleep = slept.append
            window.wait_until_cores_rest()
            print(len(slept))
            """);

        Assert.Equal($"{waits}", slept);
    }

    [Fact]
    public void Who_never_rests_is_waited_for_no_longer_than_the_patience()
    {
        string slept = Said("""
            import itertools, window
            looks, clock = itertools.count(0, 10), [0.0]
            window.busy_ticks = lambda: [next(looks), 0]
            window.time.monotonic = lambda: clock[0]
            def sleep(seconds): clock[0] += seconds
            window.time.sleep = sleep
            window.wait_until_cores_rest()
            print(window.REST_PATIENCE_S <= clock[0] <= window.REST_PATIENCE_S + window.REST_S)
            """);

        Assert.Equal("True", slept);
    }

    [Fact]
    public void A_paced_percentile_is_the_median_of_the_windows_that_count()
    {
        // Of six windows one is disturbed, one has no answers and one is far behind: 100, 300 and 9,000 are left.
        string percentile = Said("""
            import os, sys
            sys.path.insert(0, os.path.join(os.environ["PYTHONPATH"], "..", "transport"))
            import cells, load, rows
            class Quiet:
                def disturbances(self, application): return []
            class Disturbed:
                def disturbances(self, application): return ["others ran"]
            def counted(p99, requests=1000): return load.Counted(requests, 1, 0, p99)
            windows = iter([
                (counted(300), Quiet()), (counted(7), Disturbed()), (counted(9000), Quiet()), None, (counted(8, 500), Quiet()), (counted(100), Quiet())])
            def of(application, work):
                window = next(windows)
                if window is None: raise cells.LoadFailure("the server has gone")
                return window
            cells.Window.of = of
            cell = cells.Cell("plaintext", 64, "one", "millrace", 0)
            for _ in range(6): cells.pace(None, rows.ROWS[0], cell, 1000)
            print(cell.p99s_us, cell.p99_us, len(cell.paced_faults))
            """);

        Assert.Equal("[300, 9000, 100] 300 3", percentile);
    }

    [Fact]
    public void Builds_are_compared_within_each_round()
    {
        // Rounds differ more than the builds: of all rounds together "after" would be no better. One round of it does not count.
        string table = Said("""
            import os, sys
            sys.path.insert(0, os.path.join(os.environ["PYTHONPATH"], "..", "transport"))
            import cells, table
            def cell(transport, round_, cost, faults=()):
                return cells.Cell("json", 64, "one", transport, round_, 1000, cost, cost, faults=list(faults))
            measured = [
                *(cell("before", round_, cost) for round_, cost in enumerate([10, 20, 40, 10])),
                *(cell("after", round_, cost) for round_, cost in enumerate([9, 16, 34])), cell("after", 3, 99, ["others ran"]),
                *(cell("millrace", round_, cost) for round_, cost in enumerate([10, 20, 40, 11]))]
            print(table.markdown(measured, ["millrace", "before", "after"], ["before", "after"]))
            """);

        Assert.Contains("| row | connections | after / before | millrace / before |", table, StringComparison.Ordinal);
        Assert.Contains("| json | 64 | 0.85 (0.82–0.88) | 1.00 (1.00–1.02) |", table, StringComparison.Ordinal);
    }

    private static string Said(string script) => Python.Said(Modules, "-c", script).Trim();
}
