using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Wire.Faults;

public class RudePeerTests : EngineTest
{
    /// <summary>Connections come and go at every stage of an exchange, and their slots go from one to the next: no byte strays.</summary>
    [Fact]
    [Trait("Duration", "Full")]
    public async Task Peers_that_die_or_never_read_do_not_mix_the_bytes_of_others()
    {
        const int Seed = 20_261;
        TestServer server = await Serve(
            Handlers.Response, Options with { ReceiveBuffers = 16, Limits = new Limits { WriteStall = TimeSpan.FromSeconds(2) } });
        Task[] polite = [.. Enumerable.Range(1, 8).Select(id => Exchange(server, id))];
        Task[] rude = [.. Enumerable.Range(1, 8).Select(id => Offend(server, new Random(Seed + id), id + 1_000))];
        await Task.WhenAll([.. polite, .. rude]);
        Assert.Empty(Log.Failures);
    }

    private static async Task Exchange(TestServer server, int id)
    {
        using TestClient client = await server.Connect();
        for (int i = 0; i < 150; i++)
        {
            int count = (i * 7_919 % 100_000) + 1;
            await client.Send(Handlers.Request(id + (i * 16), count));
            Pattern.Check(await client.Receive(count), id + (i * 16));
        }
    }

    private static async Task Offend(TestServer server, Random random, int id)
    {
        for (int i = 0; i < 60; i++)
        {
            TestClient client = await server.Connect();
            await client.Send(Handlers.Request(id, random.Next(10_000_000)).AsMemory(0, random.Next(1, 9)));
            switch (random.Next(4))
            {
                case 0:
                    client.Reset();
                    break;
                case 1:
                    client.Finish();
                    break;
                case 2:
                    client.Dispose();
                    break;
                default:
                    // Stays, and never reads.
                    break;
            }
        }
    }
}
