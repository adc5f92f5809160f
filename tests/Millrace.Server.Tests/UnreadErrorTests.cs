using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Whoever is to read what the server says may have stopped: that holds up nothing.</summary>
public class UnreadErrorTests
{
    private const int MistakesToFillAnyQueue = 6_000;

    [Fact]
    public async Task It_reloads_serves_and_ends_while_nobody_reads_its_log()
    {
        using var folder = new TempFolder();
        string file = folder.PathOf("m.json");
        string right = $$"""{ "root": "{{Places.SampleSite}}", "listen": "127.0.0.1:0" }""";
        folder.WriteText("m.json", right);
        var start = new ProcessStartInfo(Publication.Program, ["--config", file, .. Publication.BackendFlags])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using Process process = Process.Start(Tool.WithoutBackend(start))!;
        try
        {
            string line = "";
            var url = new Uri("http://127.0.0.1");
            while (!line.StartsWith("Serving ", StringComparison.Ordinal))
            {
                line = await process.StandardOutput.ReadLineAsync(TestContext.Current.CancellationToken).AsTask()
                    .WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken) ?? "";
                url = line.StartsWith("Listening on ", StringComparison.Ordinal) ? new Uri(line.Split(' ')[2]) : url;
            }

            // A line for each, more than a pipe and the log's own queue hold.
            folder.WriteText("m.json", $"{{ {string.Join(", ", Enumerable.Range(0, MistakesToFillAnyQueue).Select(static i => $"\"mistaken-{i}\": 1"))} }}");
            Assert.Equal(0, ServerProcess.Send(process.Id, PosixSignal.SIGHUP));
            // Sleeps: the server cannot say that it has read the file, as its log is full.
            await Task.Delay(1_000, TestContext.Current.CancellationToken);
            folder.WriteText("m.json", $$"""{ "root": "{{Places.SampleSite}}", "listen": "127.0.0.1:0", "header": "X-A: new" }""");
            Assert.Equal(0, ServerProcess.Send(process.Id, PosixSignal.SIGHUP));
            Assert.True(SpinWait.SpinUntil(() => Wire.Get(url, "/").Field("X-A") == "new", TimeSpan.FromSeconds(30)));

            Assert.Equal(0, ServerProcess.Send(process.Id, PosixSignal.SIGTERM));
            await Task.WhenAny(process.WaitForExitAsync(TestContext.Current.CancellationToken), Task.Delay(15_000, TestContext.Current.CancellationToken));
            Assert.True(process.HasExited, "It waits for the reader of its log.");
        }
        finally
        {
            process.Kill(entireProcessTree: true);
        }
    }
}
