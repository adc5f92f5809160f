using System.Net;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Wire.Kit;

namespace Millrace.Engine.Tests.Unit;

/// <summary>How many come in, in all and of one client; and that a client that is gone leaves nothing.</summary>
public class TurnstileTests
{
    [Fact]
    public void Beyond_the_limit_the_newest_is_turned_away_until_one_leaves()
    {
        var turnstile = new Turnstile(new Limits { Connections = 2 });
        Ticket first = turnstile.Enter(null);
        Assert.Equal(Admission.Served, turnstile.Enter(null).Admission);
        Assert.Equal(Admission.TurnedAway, turnstile.Enter(null).Admission);
        Assert.Equal(2, turnstile.Served);

        turnstile.Leave(first);
        Assert.Equal(Admission.Served, turnstile.Enter(null).Admission);
    }

    [Fact]
    public void One_client_does_not_take_the_places_of_others()
    {
        var turnstile = new Turnstile(new Limits { Connections = 10, ConnectionsPerClient = 2 });
        Ticket[] tickets = [turnstile.Enter(Client("192.0.2.1")), turnstile.Enter(Client("::ffff:192.0.2.1"))];
        Assert.All(tickets, static ticket => Assert.Equal(Admission.Served, ticket.Admission));
        Assert.Equal(Admission.TurnedAway, turnstile.Enter(Client("192.0.2.1")).Admission);
        Assert.Equal(Admission.Served, turnstile.Enter(Client("192.0.2.2")).Admission);
        Assert.Equal((3, 2), (turnstile.Served, turnstile.Clients));

        turnstile.Leave(tickets[0]);
        Assert.Equal(Admission.Served, turnstile.Enter(Client("192.0.2.1")).Admission);
    }

    [Theory]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:2:ffff::7", true)]
    [InlineData("2001:db8:1:2::1", "2001:db8:1:3::1", false)]
    [InlineData("::ffff:192.0.2.1", "192.0.2.1", true)]
    [InlineData("::1", "0.0.0.0", false)]
    public void A_client_of_ipv6_is_its_network_of_64_bits(string one, string other, bool isSame) =>
        Assert.Equal(isSame, Client(one) == Client(other));

    [Theory]
    [InlineData("127.0.0.1", true)]
    [InlineData("127.255.255.254", true)]
    [InlineData("::ffff:127.0.0.53", true)]
    [InlineData("::1", true)]
    [InlineData("126.255.255.255", false)]
    [InlineData("128.0.0.1", false)]
    [InlineData("0.0.0.0", false)]
    [InlineData("::ffff:192.0.2.1", false)]
    [InlineData("fe80::1", false)]
    [InlineData("0:0:0:1::1", false)]
    [InlineData("0:0:1:7f00::", false)]
    public void A_client_of_this_machine_is_known_by_the_loopback(string address, bool isOfThisMachine) =>
        Assert.Equal(isOfThisMachine, Client(address)!.Value.IsLoopback);

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
        var turnstile = new Turnstile(new Limits { Connections = 1, Refusals = 1 });
        Ticket served = turnstile.Enter(null);
        Ticket refused = turnstile.EnterRefused();
        Assert.Equal(Admission.Refused, refused.Admission);
        Assert.Equal(Admission.TurnedAway, turnstile.EnterRefused().Admission);

        turnstile.Leave(refused);
        turnstile.Leave(turnstile.EnterRefused());
        Assert.Equal((1, 0), (turnstile.Served, turnstile.Refused));
        turnstile.Leave(served);
        Assert.Equal((0, 0), (turnstile.Served, turnstile.Refused));
    }

    [Fact]
    public void Under_a_flood_there_is_a_line_now_and_then_that_counts_all()
    {
        var log = new RecordingLog();
        var turnstile = new Turnstile(new Limits());
        for (long nowMs = 1_000_000; nowMs < 1_025_000; nowMs++)
        {
            turnstile.Tell(new EngineLog(log), nowMs);
        }

        Assert.Equal(3, log.Of(202).Count);
        Assert.StartsWith("Turned away 10000 ", log.Of(202)[1].Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Many_threads_come_and_go_and_nothing_stays()
    {
        var limits = new Limits { Connections = 60, ConnectionsPerClient = 20 };
        var turnstile = new Turnstile(limits);
        int most = 0;
        await Task.WhenAll(Enumerable.Range(0, 8).Select(thread => Task.Run(() =>
        {
            var random = new Random(thread);
            var held = new Queue<Ticket>();
            for (int i = 0; i < 50_000; i++)
            {
                if (random.Next(2) == 0 && held.TryDequeue(out Ticket ticket))
                {
                    turnstile.Leave(ticket);
                }
                else if (turnstile.Enter(new ClientAddress((ulong)random.Next(4))) is { Admission: Admission.Served } entered)
                {
                    held.Enqueue(entered);
                    most = Math.Max(most, turnstile.Served);
                }
            }

            foreach (Ticket left in held)
            {
                turnstile.Leave(left);
            }
        }, TestContext.Current.CancellationToken)));
        Assert.Equal((0, 0), (turnstile.Served, turnstile.Clients));
        Assert.InRange(most, 20, 60 + 8);
    }

    private static ClientAddress? Client(string address) =>
        ClientAddress.Of(SocketEndPoint.Encode(new IPEndPoint(IPAddress.Parse(address), 80)));
}
