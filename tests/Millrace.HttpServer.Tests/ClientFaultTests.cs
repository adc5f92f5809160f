using Millrace.Engine;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

/// <summary>Clients that break off, stop reading or say half of what they mean, among others that get on with it.</summary>
public class ClientFaultTests : SiteFixture
{
    private const int Clients = 64;
    private const int LargeSize = 4 * 1024 * 1024;

    private static readonly TimeSpan Stall = TimeSpan.FromMilliseconds(300);

    private static readonly EngineOptions TwoReactors = new() { Reactors = 2 };
    private static readonly EngineOptions ShortTimeouts = new() { Reactors = 1, Limits = new Limits { WriteStall = Stall } };

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [Trait("Duration", "Full")]
    public async Task Clients_that_fail_in_every_way_harm_no_other(int seed)
    {
        Folder.AddSizes();
        Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync(engine: TwoReactors);
        using var done = new CancellationTokenSource();

        Task[] faulty = [.. Enumerable.Range(0, Clients / 2).Select(i => Task.Run(() => FailAsync(site, Dice(seed, i), done.Token)))];
        Task[] sound = [.. Enumerable.Range(Clients / 2, Clients / 2).Select(i => Task.Run(() => FetchAllAsync(site, Dice(seed, i))))];
        try
        {
            await Task.WhenAll(sound);
        }
        finally
        {
            await done.CancelAsync();
        }

        await Task.WhenAll(faulty);
    }

    [Theory]
    [InlineData("read", 200_000)]
    [InlineData("streamed", LargeSize)]
    [InlineData("memory", 65_536)]
    public async Task A_client_that_never_reads_is_cut_off(string way, int size)
    {
        Folder.AddSized(size);
        RunningSite site = await StartAsync(engine: ShortTimeouts);
        Wire wire = await site.ConnectAsync(receiveBufferBytes: 4096);
        // More than all buffers between us together, in whatever way.
        int requests = 8 * LargeSize / size;
        await wire.SendAsync(string.Concat(Enumerable.Repeat($"GET {SiteFolder.Target(size)} HTTP/1.1\r\nHost: {way}\r\n\r\n", requests)));

        await site.EmptiedAsync();

        (byte[] bytes, WireEnd end) = await wire.ReadToEndAsync();
        Assert.Equal(WireEnd.Reset, end);
        Assert.True(bytes.Length < (long)requests * size);
    }

    [Fact]
    public async Task A_connection_without_a_request_costs_nothing_when_it_goes()
    {
        RunningSite site = await StartAsync();
        for (int i = 0; i < 200; i++)
        {
            using Wire wire = await site.ConnectAsync();
            if (i % 2 == 0)
            {
                wire.Reset();
            }
        }

        await site.EmptiedAsync();
    }

    private static async Task FetchAllAsync(RunningSite site, Random dice)
    {
        for (int round = 0; round < 3; round++)
        {
            Wire wire = await site.ConnectAsync(dice.Next(2) == 0 ? 4096 : 0);
            int[] sizes = [.. SiteFolder.Sizes];
            dice.Shuffle(sizes);
            if (dice.Next(2) == 0)
            {
                foreach (int size in sizes)
                {
                    (await wire.GetAsync(SiteFolder.Target(size))).AssertIsWhole(SiteFolder.Bytes(size));
                }
            }
            else
            {
                await wire.SendAsync(string.Concat(sizes.Select(size => $"GET {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\n\r\n")));
                foreach (int size in sizes)
                {
                    (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(size));
                }
            }
        }
    }

    private static async Task FailAsync(RunningSite site, Random dice, CancellationToken done)
    {
        while (!done.IsCancellationRequested)
        {
            int size = dice.Next(3) == 0 ? LargeSize : SiteFolder.Sizes[dice.Next(SiteFolder.Sizes.Length)];
            string request = $"GET {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\n\r\n";
            using Wire wire = await Wire.ConnectAsync(site.EndPoint, 4096);
            switch (dice.Next(6))
            {
                case 0:
                    // Reset in the middle of the body.
                    await wire.SendAsync(request);
                    _ = await wire.ReadBytesAsync(dice.Next(1, 100 + (size / 2)));
                    wire.Reset();
                    break;
                case 1:
                    // Reset at once, the responses on their way.
                    await wire.SendAsync(string.Concat(Enumerable.Repeat(request, 20)));
                    wire.Reset();
                    break;
                case 2:
                    // Closed with bytes unread, which is a reset as well, only later.
                    await wire.SendAsync(request);
                    wire.FinishSending();
                    _ = await wire.ReadHeadAsync();
                    break;
                case 3:
                    await wire.SendAsync(request[..dice.Next(1, request.Length)]);
                    wire.Reset();
                    break;
                case 4:
                    // Half a body, then gone.
                    await wire.SendAsync("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n" + new string('a', 500));
                    wire.Reset();
                    break;
                default:
                    // Reads nothing for a while.
                    await wire.SendAsync(string.Concat(Enumerable.Repeat(request, 5)));
                    // Sleeps: a client that stands still among others that do not.
                    await Task.Delay(Stall, done).ContinueWith(static _ => { }, TaskScheduler.Default);
                    break;
            }
        }
    }

#pragma warning disable CA5394 // Not for secrets: the same seed has to fail in the same ways.
    private static Random Dice(int seed, int client) => new((seed * 1000) + client);
#pragma warning restore CA5394
}
