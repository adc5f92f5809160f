using Millrace.Server.Terminal;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Terminal;

/// <summary>The output on a terminal, which script(1) provides.</summary>
public class TerminalTests
{
    [Theory]
    [InlineData("127.0.0.1:0", @"^Only this machine can connect; --listen \d+ allows others. Ctrl\+C stops.$")]
    [InlineData("0", @"^(Other machines reach it at http://[0-9.]+:\d+/. )?Ctrl\+C stops.$")]
    public async Task On_a_terminal_the_lines_are_those_for_programs_and_a_hint_follows(string address, string hint)
    {
        Tool.Require("script");
        await using ServerProcess server = await StartAsync("", "Serving ", address);
        string[] lines = [.. server.Lines.Select(Shown), Shown((await server.ReadLineAsync())!)];
        Assert.Matches(@"^Listening on http://(127\.0\.0\.1:[1-9]\d*/|localhost:[1-9]\d*/ \(all interfaces\))$", lines[0]);
        Assert.Matches($@"^Serving .* \({Places.SampleTargets.Count()} files\) on (io_uring|epoll) with 1 reactor$", lines[1]);
        Assert.Matches(hint, lines[2]);
        Assert.DoesNotContain('\x1b', string.Concat(lines));
    }

    [Fact]
    public async Task On_a_dumb_terminal_there_is_no_hint()
    {
        Tool.Require("script");
        await using ServerProcess server = await StartAsync("TERM=dumb", "Serving ", "127.0.0.1:0");
        Assert.StartsWith("Listening on http://127.0.0.1:", server.Lines[0], StringComparison.Ordinal);
    }

    [Fact]
    public async Task Compressing_draws_how_far_it_is()
    {
        Tool.Require("script");
        using var folder = new TempFolder();
        for (int i = 0; i < 4; i++)
        {
            // So much takes the best coding longer than the pause between two drawings.
            string text = Convert.ToHexString(folder.Add($"{i}.bin", 400_000));
            File.WriteAllText(folder.PathOf($"{i}.txt"), text);
        }

        ToolResult result = await Tool.RunAsync(
            TimeSpan.FromMinutes(2), "script", "-qec", $"env TERM=xterm '{Publication.Program}' precompress '{folder.Root}'", "/dev/null");
        Assert.Equal(0, result.ExitCode);
        Assert.Contains("\r\x1b[KCompressing [", result.Output, StringComparison.Ordinal);
        Assert.Matches("\r\x1b\\[K12 written [^\\n]*\n$", result.Output);
    }

    [Theory]
    [InlineData(0, 8, 80, "Compressing [........................] 0/8 a.js")]
    [InlineData(3, 8, 80, "Compressing [#########...............] 3/8 a.js")]
    [InlineData(8, 8, 80, "Compressing [########################] 8/8 a.js")]
    [InlineData(0, 0, 80, "Compressing [########################] 0/0 a.js")]
    [InlineData(3, 8, 20, "Compressing [######")]
    public void Progress_is_a_bar_that_fits_the_terminal(int done, int total, int columns, string expected) =>
        Assert.Equal(expected, ProgressLine.Text("Compressing", done, total, "a.js", columns));

    /// <summary>Without what the runtime itself says to a terminal when it first writes to one (its keypad is to send codes).</summary>
    private static string Shown(string line) => line.Replace("\x1b[?1h\x1b=", "", StringComparison.Ordinal).TrimEnd('\r');

    private static Task<ServerProcess> StartAsync(string variable, string lastLine, string address)
    {
        string flags = string.Join(' ', (string[])["--reactors", "1", "--listen", address, .. Publication.BackendFlags]);
        string command = $"env TERM=xterm {variable} '{Publication.Program}' '{Places.SampleSite}' {flags}";
        return ServerProcess.StartAsync("script", ["-qec", command, "/dev/null"], lastLine);
    }
}
