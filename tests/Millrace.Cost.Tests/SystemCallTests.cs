using System.Globalization;
using System.Runtime.Versioning;
using Millrace.Cost.Tests.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Cost.Tests;

/// <summary>
/// The system calls of a reactor for a request, each by its name. Every request finds the reactor asleep, as one that came while it still
/// works would save it a wait or not, by chance.
/// </summary>
[SupportedOSPlatform("linux")]
public class SystemCallTests
{
    private const int Requests = 1000;

    /// <summary>
    /// Of a request: a timer, the runtime, which still compiles now and then, and the reactor that wakes its watch behind a pause, call a
    /// few times in all; more often where others keep the machine busy.
    /// </summary>
    private const double StrayMax = 0.3;

    /// <summary>What a request calls it calls in every round; what strays more than that in one does not in each.</summary>
    private const int RoundsMost = 3;

    [Theory]
    [InlineData("io_uring", "", 10_000, "io_uring_enter 2")]
    [InlineData("io_uring", "", 32_000, "io_uring_enter 2")]
    [InlineData("io_uring", "", 33_000, "io_uring_enter 2, sendfile 1, sendmsg 1")]
    [InlineData("io_uring", Flags.Ring, 10_000, "io_uring_enter 3, statx 1")]
    [InlineData("io_uring", Flags.Ring, 100_000, "io_uring_enter 3, statx 1")]
    [InlineData("io_uring", Flags.Stream, 10_000, "io_uring_enter 3, statx 2")]
    [InlineData("epoll", "", 10_000, "epoll_wait 2, recvfrom 1, sendto 1")]
    [InlineData("epoll", "", 66_000, "epoll_wait 2, recvfrom 1, sendfile 1, sendmsg 1")]
    [InlineData("epoll", Flags.Ring, 10_000, "epoll_wait 3, preadv2 2, recvfrom 1, sendto 1, statx 1")]
    public Task A_request_is_answered_by_these_calls(string backend, string flags, int size, string calls) =>
        AssertCallsAsync(calls, backend, flags, size, inOneWrite: 1, Over1);

    [Theory]
    [InlineData("io_uring", "io_uring_enter 2")]
    [InlineData("epoll", "epoll_wait 2, recvfrom 1, sendto 1")]
    public Task Sixteen_requests_that_come_together_are_answered_together(string backend, string calls) =>
        AssertCallsAsync(calls, backend, "", 1000, inOneWrite: 16, Over1);

    [Theory]
    [InlineData("io_uring", 1, "io_uring_enter 2")]
    [InlineData("io_uring", 16, "io_uring_enter 2")]
    [InlineData("epoll", 1, "epoll_wait 2, recvfrom 1, sendto 1")]
    [InlineData("epoll", 16, "epoll_wait 2, recvfrom 1, sendto 1")]
    public Task Streams_of_one_connection_are_answered_by_these_calls(string backend, int streams, string calls) =>
        AssertCallsAsync(calls, backend, "", 1000, streams, static url => new Http2Connection(url, "/file.bin"));

    /// <summary>Beside the waits, whose number depends on what comes together.</summary>
    [Fact]
    public Task A_connection_is_taken_and_closed_by_these_calls() =>
        WithServerAsync("io_uring", "", 1000, static async (url, reactor) =>
        {
            Connect(url, reactor, Requests);
            await AssertCallsAsync("close 1, getpeername 1", async () =>
            {
                IReadOnlyDictionary<string, int> counted = await CallCount.OfAsync(reactor, () => Connect(url, reactor, Requests));
                return Named(counted.Where(static call => call.Key != "io_uring_enter"));
            });
        });

    /// <summary>All but as much as a peer on the same machine may leave unread, a MiB at a time at most.</summary>
    [Theory]
    [InlineData("io_uring", "", true)]
    [InlineData("epoll", "", true)]
    [InlineData("io_uring", "--sendfile off", false)]
    [InlineData("epoll", "--sendfile off", false)]
    public Task A_large_file_is_sent_without_a_copy(string backend, string flags, bool isSent) =>
        WithServerAsync(backend, flags, 150_000_000, async (url, reactor) =>
        {
            using var client = new HttpClient();
            IReadOnlyDictionary<string, int> counted = await CallCount.OfAsync(reactor, () =>
            {
                using HttpResponseMessage response = client.Send(
                    new HttpRequestMessage(HttpMethod.Get, new Uri(url, "/file.bin")), HttpCompletionOption.ResponseHeadersRead);
                response.Content.ReadAsStream().CopyTo(Stream.Null);
            });
            if (isSent)
            {
                Assert.InRange(counted.GetValueOrDefault("sendfile"), 50, 10_000);
            }
            else
            {
                Assert.Equal(0, counted.GetValueOrDefault("sendfile"));
            }
        });

    private static Http1Connection Over1(Uri server) => new(server, "/file.bin", "", 200);

    /// <summary>The calls for each write of requests.</summary>
    private static Task AssertCallsAsync(
        string calls, string backend, string flags, int size, int inOneWrite, Func<Uri, KeptConnection> connect) =>
        WithServerAsync(backend, flags, size, async (url, reactor) =>
        {
            using KeptConnection connection = connect(url);
            Ask(connection, reactor, inOneWrite, Requests * 2);
            await AssertCallsAsync(
                calls, async () => Named(await CallCount.OfAsync(reactor, () => Ask(connection, reactor, inOneWrite, Requests))));
        });

    private static async Task AssertCallsAsync(string calls, Func<Task<string>> round)
    {
        string counted = await round();
        for (int rounds = 1; rounds < RoundsMost && counted != calls; rounds++)
        {
            counted = await round();
        }

        Assert.Equal(calls, counted);
    }

    private static async Task WithServerAsync(string backend, string flags, int size, Func<Uri, ServerThread, Task> count)
    {
        Tool.Require("strace");
        using var folder = new TempFolder();
        folder.Add("file.bin", size);

        // As most files are: what was written just now is copied.
        File.SetLastWriteTimeUtc(Path.Combine(folder.Root, "file.bin"), DateTime.UtcNow - TimeSpan.FromHours(1));
        await using ServerProcess server = await ServerProcess.StartAsync(
            Publication.Program,
            [folder.Root, .. Flags.OneReactor(backend, flags)],
            "Serving ");
        await count(server.Url, ServerThreads.Reactor(server));
    }

    /// <summary>How many there were for each of what was done, the most frequent first.</summary>
    private static string Named(IEnumerable<KeyValuePair<string, int>> counted) => string.Join(", ", counted
        .Select(static call => (Name: call.Key, Each: call.Value / (double)Requests))
        .Where(static call => call.Each > StrayMax)
        .OrderByDescending(static call => Math.Round(call.Each))
        .ThenBy(static call => call.Name, StringComparer.Ordinal)
        .Select(static call => $"{call.Name} {Text(call.Each)}"));

    private static void Ask(KeptConnection connection, ServerThread reactor, int inOneWrite, int times)
    {
        for (int i = 0; i < times; i++)
        {
            AwaitSleep(reactor);
            connection.Ask(inOneWrite);
        }
    }

    private static void Connect(Uri server, ServerThread reactor, int times)
    {
        for (int i = 0; i < times; i++)
        {
            using Http1Connection connection = Over1(server);
            AwaitSleep(reactor);
        }
    }

    private static void AwaitSleep(ServerThread reactor) =>
        Assert.True(SpinWait.SpinUntil(() => reactor.IsAsleep, TimeSpan.FromSeconds(60)), "The reactor never sleeps.");

    /// <summary>A whole number, where it is one but for what strays.</summary>
    private static string Text(double each) =>
        Math.Abs(each - Math.Round(each)) <= StrayMax
            ? Math.Round(each).ToString(CultureInfo.InvariantCulture)
            : each.ToString("0.00", CultureInfo.InvariantCulture);
}
