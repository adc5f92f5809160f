using System.Globalization;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>
/// Floods of legal requests, on few connections and many, and a client with one request beside them: how long it waits is printed. The
/// first floods meet a server that has compiled nothing yet.
/// </summary>
public class FairnessTests(ITestOutputHelper output)
{
    private const int SmallBytes = 1_000;

    private static readonly TimeSpan Time = TimeSpan.FromSeconds(1);

    /// <summary>
    /// In processor time of a reactor, of nine waits in ten: the client may be kept from the processor itself after its answer has come,
    /// which appears as a longer wait.
    /// </summary>
    private const double ReactorMsMax = 20;

    /// <summary>The same beside large downloads, which the kernel copies within a turn.</summary>
    private const double ReactorMsMaxBesideDownloads = 100;

    /// <summary>By the clock, on a machine that has other things to do.</summary>
    private const double MsMax = 10_000;

    public static TheoryData<string> Backends => Environment.GetEnvironmentVariable("MILLRACE_BACKEND") is { Length: > 0 } only
        ? [only]
        : ["io_uring", "epoll"];

    [Theory]
    [MemberData(nameof(Backends))]
    public async Task Who_asks_for_one_page_is_answered_soon_under_every_flood_of_legal_requests(string backend)
    {
        using var folder = new TempFolder();
        folder.Add("small.bin", SmallBytes);
        folder.Add("large.bin", 16 * 1024 * 1024);
        string[] backendFlags = Publication.BackendFlags.Length > 0 ? [] : ["--backend", backend];
        await using ServerProcess server = await ServerProcess.StartAsync([folder.Root, "--listen", "127.0.0.1:0", .. backendFlags]);
        using var client = new OneRequestClient(server, "/small.bin", SmallBytes);
        (string Name, Func<Flood> Begin)[] floods =
        [
            ("HTTP/2, 50 x 100 HEADs, cold", () => Flood.OfHeads(server.Url, 50, 100, "/large.bin")),
            ("HTTP/2, 50 x 100 HEADs", () => Flood.OfHeads(server.Url, 50, 100, "/large.bin")),
            ("HTTP/2, 50 x 5,000 HEADs", () => Flood.OfHeads(server.Url, 50, 5_000, "/small.bin")),
            ("HTTP/2, 200 x 1,000 HEADs", () => Flood.OfHeads(server.Url, 200, 1_000, "/large.bin")),
            ("HTTP/1.1, 50 pipelines", () => Flood.OfPipelines(server.Url, 50, "/small.bin")),
            ("HTTP/1.1, 50 pipelines of 404", () => Flood.OfPipelines(server.Url, 50, "/nowhere")),
            ("HTTP/1.1, 100 downloads", () => Flood.OfDownloads(server.Url, 100, "/large.bin")),
            ("50 clients that reconnect", () => Flood.OfConnections(server.Url, 50, "/small.bin")),
        ];
        client.AskFor(TimeSpan.FromMilliseconds(100));
        output.WriteLine($"{backend}: waits in ms: the longest; in a reactor's processor time the longest, and the longest of nine in ten");
        var late = new List<string>();
        foreach ((string name, Func<Flood> begin) in floods)
        {
            await using Flood flood = begin();
            if (!name.EndsWith("cold", StringComparison.Ordinal))
            {
                await flood.AwaitResponsesAsync();
            }

            // On a thread of its own: the flood's clients need those of the pool.
            await Task.Factory.StartNew(() => client.AskFor(Time), default, TaskCreationOptions.LongRunning, TaskScheduler.Default);
            await flood.AwaitResponsesAsync();
            string line = $"{name,-32}: new {Describe(client.OverNew)}; kept {Describe(client.OverKept)}";
            output.WriteLine(line);
            double most = name.EndsWith("downloads", StringComparison.Ordinal) ? ReactorMsMaxBesideDownloads : ReactorMsMax;
            if (client.OverNew.Concat(client.OverKept).Max(static wait => wait.Ms) > MsMax
                || Usual(client.OverNew) > most || Usual(client.OverKept) > most)
            {
                late.Add(line);
            }
        }

        Assert.Empty(late);
    }

    private static double Usual(List<OneRequestClient.Wait> waits)
    {
        double[] sorted = [.. waits.Select(static wait => wait.ReactorMs).Order()];
        return sorted[sorted.Length * 9 / 10];
    }

    private static string Describe(List<OneRequestClient.Wait> waits) => string.Create(
        CultureInfo.InvariantCulture,
        $"{waits.Max(static wait => wait.Ms):N1}, {waits.Max(static wait => wait.ReactorMs):N1}, {Usual(waits):N1} ({waits.Count})");
}
