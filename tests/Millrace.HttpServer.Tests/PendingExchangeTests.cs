using System.Text;
using Millrace.Engine;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests;

/// <summary>
/// Requests whose responses wait to be sent hold a record each if there is an observer: a client that asks for thousands and reads no response
/// holds a bounded number of them, whatever a response's size.
/// </summary>
public class PendingExchangeTests : SiteFixture
{
    private const int Requests = 200_000;

    private readonly CountingObserver _observer = new();

    [Fact]
    public async Task Over_http_1_a_client_that_reads_no_response_holds_no_more_records_than_the_limit()
    {
        Folder.AddSized(1000);
        RunningSite site = await StartAsync(observe: _ => _observer.OnFinished);
        Wire wire = await site.ConnectAsync(receiveBufferBytes: 4096);
        byte[] requests = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat("HEAD /f1000.bin HTTP/1.1\r\nHost: a\r\n\r\n", 1_000)));
        await AssertHeldAsync(site, () => wire.SendAsync(requests));
        wire.Reset();
    }

    [Fact]
    public async Task Over_http_2_a_client_that_reads_no_response_holds_no_more_records_than_the_limit()
    {
        Folder.AddSized(1000);
        RunningSite site = await StartAsync(observe: _ => _observer.OnFinished);
        Http2Wire client = await Http2Wire.OpenAsync(site, receiveBufferBytes: 4096);
        int next = 1;
        await AssertHeldAsync(site, async () =>
        {
            byte[] requests = [.. Enumerable.Range(0, 1_000).SelectMany(i => Frame.Headers(next + (2 * i), Block.Request("HEAD", "/f1000.bin")))];
            next += 2_000;
            await client.SendAsync(requests);
        });
        client.Wire.Reset();
    }

    /// <summary>
    /// Sends until the server does not listen any more, and looks at what it holds then. The responses to all requests are more than what
    /// both kernels hold.
    /// </summary>
    private static async Task AssertHeldAsync(RunningSite site, Func<Task> sendThousand)
    {
        Task sending = SendAsync();
        int held = 0;
        Reactor reactor = site.Group.Reactors[0];
        long receivedBefore = -1;
        for (int quiet = 0; quiet < 5;)
        {
            await Task.Delay(20, TestContext.Current.CancellationToken);
            held = Math.Max(held, await HeldAsync(reactor));
            long received = reactor.Counters.BytesReceived;
            quiet = received == receivedBefore && held > 0 ? quiet + 1 : 0;
            receivedBefore = received;
            Assert.False(sending.IsCompletedSuccessfully, "All was answered without being read.");
        }

        Assert.Equal(ExchangeRecorder.PendingMax, held);
        _ = sending.ContinueWith(static sent => sent.Exception, TaskScheduler.Default);

        async Task SendAsync()
        {
            for (int sent = 0; sent < Requests; sent += 1_000)
            {
                await sendThousand();
            }
        }
    }

    private static async Task<int> HeldAsync(Reactor reactor)
    {
        int held = 0;
        await reactor.PostAsync(() => held = reactor.Connections.InUse().Max(Held));
        return held;
    }

    private static int Held(Connection connection) => connection.Observer is PendingExchanges pending ? pending.Count : 0;
}
