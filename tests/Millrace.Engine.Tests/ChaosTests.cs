using Millrace.Engine.Diagnostics;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests;

/// <summary>Some clients die in every way while others verify every byte: no connection may see another's.</summary>
public class ChaosTests : EngineTest
{
    [Theory]
    [InlineData(1, 64)]
    [InlineData(2, 8)]
    [Trait("Duration", "Full")]
    public async Task Clients_that_die_disturb_nobody_else(int seed, int receiveBuffers)
    {
        Listener listener = await ServeAsync(
            Handlers.PatternAsync, Options() with { Reactors = 2, ReceiveBuffers = receiveBuffers });
        using var isOver = new CancellationTokenSource();
        Task[] dying = [.. Enumerable.Range(0, 12).Select(id => DieAgainAndAgainAsync(listener, seed, id, isOver.Token))];
        Task verifying = Task.WhenAll(Enumerable.Range(0, 12).Select(async id =>
        {
            var random = new Random((seed * 1_000) + id);
            for (int round = 0; round < 15; round++)
            {
                using Client client = await Client.ConnectAsync(listener.EndPoint);
                for (int request = 0; request < 8; request++)
                {
                    int marker = (id * 10_000) + (round * 100) + request;
                    int count = random.Next(4) == 0 ? random.Next(1, 300_000) : random.Next(1, 3_000);
                    await client.SendAsync(Handlers.PatternRequest(marker, count));
                    Pattern.Check(marker, await client.ReceiveAsync(count));
                }
            }
        }));
        await Waiting.UntilAsync(() => verifying.IsCompleted, () => LeftAsync("all was verified"));
        await verifying;
        await isOver.CancelAsync();
        await Task.WhenAll(dying).Within();

        // By themselves, before a stop would reset them: no slot is stuck.
        await Waiting.UntilAsync(() => Group.Reactors.All(static reactor => reactor.Connections.Count == 0), () => LeftAsync("all slots were returned"));
        Assert.Equal((0, 0L), (Log.Count(300), Group.Reactors.Sum(static reactor => reactor.Counters.Shed)));
    }

    /// <summary>With the connections that are still there.</summary>
    private async Task<string> LeftAsync(string what)
    {
        string[][] left = await Task.WhenAll(Group.Reactors.Select(static reactor =>
            reactor.AskAsync(() => reactor.Connections.InUse().Select(static connection => connection.Describe()).ToArray())));
        return $"{what}:\n{string.Join('\n', left.SelectMany(static lines => lines))}";
    }

    private static async Task DieAgainAndAgainAsync(Listener listener, int seed, int id, CancellationToken isOver)
    {
        var random = new Random((seed * 1_000) + 500 + id);
        var lingering = new List<Client>();
        while (!isOver.IsCancellationRequested)
        {
            Client client = await Client.ConnectAsync(listener.EndPoint);
            int marker = 1_000_000 + (id * 10_000);
            switch (random.Next(5))
            {
                case 0:
                    // Half a request, then a reset.
                    await client.SendAsync(Handlers.PatternRequest(marker, 10).AsMemory(0, random.Next(8)));
                    client.Reset();
                    break;
                case 1:
                    // A reset amid a large answer.
                    await client.SendAsync(Handlers.PatternRequest(marker, 5_000_000));
                    Pattern.Check(marker, await client.ReceiveAsync(random.Next(1, 50_000)));
                    client.Reset();
                    break;
                case 2:
                    // Pipelined requests, the end after them, nothing read.
                    for (int i = 0; i < 5; i++)
                    {
                        await client.SendAsync(Handlers.PatternRequest(marker, 20_000));
                    }

                    client.EndSending();
                    client.Dispose();
                    break;
                case 3:
                    client.Reset();
                    break;
                default:
                    // Never reads, for a while.
                    await client.SendAsync(Handlers.PatternRequest(marker, 10_000_000));
                    lingering.Add(client);
                    if (lingering.Count > 3)
                    {
                        lingering[0].Reset();
                        lingering.RemoveAt(0);
                    }

                    break;
            }
        }

        lingering.ForEach(static client => client.Reset());
    }
}
