using System.Net.Security;
using System.Text;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>How connections end: by close_notify, by a cut, in time.</summary>
public class EndingTests : TlsTest
{
    [Fact]
    public async Task A_client_that_has_said_goodbye_still_gets_its_answer()
    {
        Listener listener = await ServeTlsAsync(static async connection =>
        {
            ReadOutcome outcome;
            while ((outcome = await connection.ReadAsync()) == ReadOutcome.Data)
            {
            }

            connection.Write(Encoding.ASCII.GetBytes($"{outcome} after {connection.Input.Length}"));
        });
        SslStream stream = await ConnectTlsAsync(listener);
        await stream.WriteAsync(new byte[300]).AsTask().Within();
        await stream.ShutdownAsync().Within();
        Assert.Equal("End after 300", Encoding.ASCII.GetString(await ReceiveToEndAsync(stream)));
    }

    [Fact]
    public async Task An_end_without_a_goodbye_is_a_cut()
    {
        var outcome = new TaskCompletionSource<ReadOutcome>();
        Listener listener = await ServeTlsAsync(async connection =>
        {
            ReadOutcome seen;
            while ((seen = await connection.ReadAsync()) == ReadOutcome.Data)
            {
            }

            outcome.SetResult(seen);
        });
        Client client = await ConnectAsync(listener);
        SslStream stream = Keep(new SslStream(new CuttingStream(client.Socket, int.MaxValue)));
        await stream.AuthenticateAsClientAsync(Trusting()).Within();
        await stream.WriteAsync(new byte[10]).AsTask().Within();
        client.EndSending();
        Assert.Equal(ReadOutcome.Reset, await outcome.Task.Within());
        Assert.Equal(1, Terminator.Counters.ConnectionsTruncated);
    }

    [Fact]
    public async Task The_server_says_goodbye_after_its_last_byte()
    {
        Listener listener = await ServeTlsAsync(static connection =>
        {
            connection.Write(Pattern.Make(3, 50_000));
            return Task.CompletedTask;
        });
        SslStream stream = await ConnectTlsAsync(listener);

        // SslStream takes an end without close_notify for one in order; OpenSSL does not.
        Pattern.Check(3, await ReceiveToEndAsync(stream));
        string seen = await Tools.AskAsync(listener, "", "-quiet", "-tls1_3");
        Assert.DoesNotContain("unexpected eof", seen, StringComparison.OrdinalIgnoreCase);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(60)]
    public async Task A_handshake_that_is_not_finished_in_time_is_ended(int bytes)
    {
        Listener listener = await ServeTlsAsync(
            Handlers.EchoAsync, TlsOptions() with { HandshakeTimeout = TimeSpan.FromMilliseconds(150) });
        Client client = await ConnectAsync(listener);
        byte[] begin = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03, .. new byte[60]];
        await client.SendAsync(begin.AsMemory(0, bytes));
        Assert.Empty(await client.ReceiveToEndAsync());
        Assert.Equal(1, Terminator.Counters.HandshakesFailed);
    }

    [Fact]
    public async Task A_client_that_says_nothing_and_goes_has_failed_at_nothing()
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync);
        Client client = await ConnectAsync(listener);
        client.EndSending();
        Assert.Empty(await client.ReceiveToEndAsync());
        client.Dispose();
        Client resetting = await ConnectAsync(listener);
        resetting.Reset();
        await Waiting.UntilAsync(() => Reactor.Counters.Accepted == 2 && Reactor.Connections.Count == 0, "both slots were returned");
        Assert.Equal((0, 0), (Terminator.Counters.HandshakesFailed, Terminator.Counters.Sessions));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_finished_handshake_has_no_deadline_any_more()
    {
        Listener listener = await ServeTlsAsync(
            Handlers.EchoAsync, TlsOptions() with { HandshakeTimeout = TimeSpan.FromSeconds(2) });
        SslStream stream = await ConnectTlsAsync(listener);
        // Sleeps: a real reactor's clock measures the deadline.
        await Task.Delay(2_500);
        await stream.WriteAsync(new byte[] { 9 }).AsTask().Within();
        Assert.Equal([9], await ReceiveAsync(stream, 1));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task An_idle_connection_ends_in_order_when_its_group_stops()
    {
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        SslStream stream = await ConnectTlsAsync(listener);
        await stream.WriteAsync(Encoding.ASCII.GetBytes("GET /5 HTTP/1.1\r\n\r\n")).AsTask().Within();
        await ReceiveAsync(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".Length + 5);
        Task stop = Group.StopAsync(TimeSpan.FromSeconds(15));
        Assert.Empty(await ReceiveToEndAsync(stream));
        stream.Dispose();
        await stop.Within();
    }

    [Fact]
    public async Task A_handler_that_aborts_leaves_no_goodbye()
    {
        Listener listener = await ServeTlsAsync(static async connection =>
        {
            await connection.ReadAsync();
            connection.Abort();
        });
        SslStream stream = await ConnectTlsAsync(listener);
        await stream.WriteAsync(new byte[1]).AsTask().Within();
        await Assert.ThrowsAnyAsync<IOException>(() => ReceiveToEndAsync(stream));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_client_that_resets_within_its_handshake_leaves_nothing(bool hasSentItsHello)
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync);
        byte[] hello = HandMadeHello.InRecords(new HandMadeHello { IsTls13 = true }.Message);
        for (int i = 0; i < 20; i++)
        {
            Client client = await ConnectAsync(listener);
            byte[] sent = hasSentItsHello ? hello : hello[..8];
            long received = (long)(i + 1) * sent.Length;
            await client.SendAsync(sent);

            // A reset takes back what the server has not received: then no handshake would have begun.
            await Waiting.UntilAsync(() => Reactor.Counters.BytesReceived >= received, "its bytes have come");
            await Waiting.UntilAsync(() => Terminator.Counters.Sessions == (hasSentItsHello ? 1 : 0), "the handshake began");
            client.Reset();
            await Waiting.UntilAsync(() => Reactor.Connections.Count == 0, "the slot was returned");
        }

        Assert.Equal((20, 0), (Terminator.Counters.HandshakesFailed, Terminator.Counters.Sessions));
    }
}
