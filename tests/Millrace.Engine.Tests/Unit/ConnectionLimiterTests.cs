using System.Net;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Wire.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Unit;

/// <summary>How many come in, in all and of one client; and that a client that is gone leaves nothing.</summary>
public class ConnectionLimiterTests
{
    [Fact]
    public void Beyond_the_limit_the_newest_is_turned_away_until_one_leaves()
    {
        var limiter = new ConnectionLimiter(new Limits { Connections = 2 });
        ConnectionLease first = limiter.Enter(null);
        Assert.Equal(AdmissionResult.Served, limiter.Enter(null).Admission);
        Assert.Equal(AdmissionResult.TurnedAway, limiter.Enter(null).Admission);
        Assert.Equal(2, limiter.Served);

        limiter.Leave(first);
        Assert.Equal(AdmissionResult.Served, limiter.Enter(null).Admission);
    }

    [Fact]
    public void One_client_does_not_take_the_places_of_others()
    {
        var limiter = new ConnectionLimiter(new Limits { Connections = 10, ConnectionsPerClient = 2 });
        ConnectionLease[] leases = [limiter.Enter(Client("192.0.2.1")), limiter.Enter(Client("::ffff:192.0.2.1"))];
        Assert.All(leases, static lease => Assert.Equal(AdmissionResult.Served, lease.Admission));
        Assert.Equal(AdmissionResult.TurnedAway, limiter.Enter(Client("192.0.2.1")).Admission);
        Assert.Equal(AdmissionResult.Served, limiter.Enter(Client("192.0.2.2")).Admission);
        Assert.Equal((3, 2), (limiter.Served, limiter.Clients));

        limiter.Leave(leases[0]);
        Assert.Equal(AdmissionResult.Served, limiter.Enter(Client("192.0.2.1")).Admission);
    }

    [Theory]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:2:ffff::7", true)]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:3::1", false)]
    [InlineData("::ffff:192.0.2.1", "192.0.2.1", true)]
    [InlineData("::1", "0.0.0.0", false)]
    public void A_client_of_ipv6_is_its_network_of_64_bits(string one, string other, bool isSame) =>
        Assert.Equal(isSame, Client(one) == Client(other));

    [Fact]
    public void A_unix_socket_has_no_client()
    {
        Assert.Null(ClientAddress.Of([1, 0]));
        Assert.Null(ClientAddress.Of([1, 0, (byte)'/', (byte)'x', 0]));
        Assert.Null(ClientAddress.Of([]));
        Assert.Null(ClientAddress.Of([2, 0, 0]));
    }

    [Fact]
    public void Refusals_have_places_of_their_own()
    {
        var limiter = new ConnectionLimiter(new Limits { Connections = 1, Refusals = 1 });
        ConnectionLease served = limiter.Enter(null);
        ConnectionLease refused = limiter.EnterRefused();
        Assert.Equal(AdmissionResult.Refused, refused.Admission);
        Assert.Equal(AdmissionResult.TurnedAway, limiter.EnterRefused().Admission);

        limiter.Leave(refused);
        limiter.Leave(limiter.EnterRefused());
        Assert.Equal((1, 0), (limiter.Served, limiter.Refused));
        limiter.Leave(served);
        Assert.Equal((0, 0), (limiter.Served, limiter.Refused));
    }

    [Fact]
    public void Under_a_flood_there_is_a_line_now_and_then_that_counts_all()
    {
        var log = new RecordingLog();
        var limiter = new ConnectionLimiter(new Limits());
        for (long nowMs = 1_000_000; nowMs < 1_025_000; nowMs++)
        {
            limiter.Report(TurnedAwayCause.Connections, new EngineLog(log), nowMs);
        }

        Assert.Equal(3, log.Of(202).Count);
        Assert.StartsWith("Turned away 10000 ", log.Of(202)[1].Text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("the limit of 100 connections is reached. Raise --connections.", 0)]
    [InlineData("a client's limit of 10 connections is reached. Raise --connections-per-client.", 1)]
    [InlineData("memory for connections is short. Raise --buffer-memory.", 2)]
    [InlineData("descriptors are short. Raise the limit of descriptors ('ulimit -n', LimitNOFILE= in a unit file).", 3)]
    public void The_line_names_the_one_cause_and_its_remedy(string text, int cause)
    {
        var log = new RecordingLog();
        var limiter = new ConnectionLimiter(new Limits { Connections = 100, ConnectionsPerClient = 10 });
        limiter.Report((TurnedAwayCause)cause, new EngineLog(log), nowMs: 1_000_000);
        Assert.Equal($"Turned away 1 connection: {text}", Assert.Single(log.Of(202)).Text);
    }

    [Fact]
    public void Several_causes_since_the_last_line_are_counted_one_by_one()
    {
        var log = new RecordingLog();
        var limiter = new ConnectionLimiter(new Limits { Connections = 100 });
        foreach ((TurnedAwayCause cause, long nowMs) in new[]
        {
            (TurnedAwayCause.Memory, 1_000_000L), (TurnedAwayCause.Connections, 1_000_001), (TurnedAwayCause.Connections, 1_000_002),
            (TurnedAwayCause.Memory, 1_030_000), (TurnedAwayCause.Connections, 1_060_000),
        })
        {
            limiter.Report(cause, new EngineLog(log), nowMs);
        }

        Assert.Equal(
            [
                "Turned away 1 connection: memory for connections is short. Raise --buffer-memory.",
                "Turned away 3 connections: 2 as the limit of 100 connections is reached, 1 as memory for connections is short. "
                    + "Raise --connections and --buffer-memory.",
                "Turned away 1 connection: the limit of 100 connections is reached. Raise --connections.",
            ],
            log.Of(202).Select(static line => line.Text));
    }

    [Fact]
    public async Task Many_threads_come_and_go_and_nothing_stays()
    {
        var limits = new Limits { Connections = 60, ConnectionsPerClient = 20 };
        var limiter = new ConnectionLimiter(limits);
        int most = 0;
        await Task.WhenAll(Enumerable.Range(0, 8).Select(thread => Task.Run(() =>
        {
            var random = new Random(thread);
            var held = new Queue<ConnectionLease>();
            for (int i = 0; i < 50_000; i++)
            {
                if (random.Next(2) == 0 && held.TryDequeue(out ConnectionLease lease))
                {
                    limiter.Leave(lease);
                }
                else if (limiter.Enter(new ClientAddress((ulong)random.Next(4))) is { Admission: AdmissionResult.Served } entered)
                {
                    held.Enqueue(entered);
                    most = Math.Max(most, limiter.Served);
                }
            }

            foreach (ConnectionLease left in held)
            {
                limiter.Leave(left);
            }
        }, TestContext.Current.CancellationToken)));
        Assert.Equal((0, 0), (limiter.Served, limiter.Clients));
        Assert.InRange(most, 20, 60 + 8);
    }

    private static ClientAddress? Client(string address) =>
        ClientAddress.Of(SocketEndPoint.Encode(new IPEndPoint(IPAddress.Parse(address), 80)));
}
