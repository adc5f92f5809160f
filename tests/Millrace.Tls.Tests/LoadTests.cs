using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;
using Millrace.Tls.Tests.Kit;

namespace Millrace.Tls.Tests;

/// <summary>Many at once: nobody gets another's bytes, and a storm of handshakes does not stall those that are established.</summary>
public class LoadTests : TlsTest
{
    [Fact]
    public async Task No_byte_of_one_connection_reaches_another()
    {
        Listener listener = await ServeTlsAsync(Handlers.PatternAsync, options: Options() with { Reactors = 2 });
        await Task.WhenAll(Enumerable.Range(0, 200).Select(async id =>
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            using var stream = new SslStream(new NetworkStream(client.Socket));
            await stream.AuthenticateAsClientAsync(Trusting()).WaitAsync(Patience * 3);
            for (int round = 0; round < 4; round++)
            {
                int count = ((id * 7919) + (round * 104_729)) % 150_000;
                await stream.WriteAsync(Handlers.PatternRequest(id, count)).AsTask().WaitAsync(Patience * 3);
                byte[] bytes = new byte[count];
                await stream.ReadExactlyAsync(bytes).AsTask().WaitAsync(Patience * 3);
                Pattern.Check(id, bytes);
            }
        }));
        Assert.Equal((200, 0), (Terminator.Counters.HandshakesDone, Terminator.Counters.HandshakesFailed));
    }

    [Fact]
    public async Task Large_bodies_are_whole_for_readers_of_any_pace()
    {
        const int Bytes = 20_000_000;
        Listener listener = await ServeTlsAsync(Handlers.PatternAsync);
        SslStream stream = await ConnectTlsAsync(listener);
        await stream.WriteAsync(Handlers.PatternRequest(5, Bytes)).AsTask().Within();
        byte[] piece = new byte[100_000];
        for (int had = 0; had < Bytes;)
        {
            int count = await stream.ReadAsync(piece).AsTask().Within();
            Assert.NotEqual(0, count);
            Pattern.Check(5, piece.AsSpan(0, count), had);
            had += count;
            if (had % 7 == 0)
            {
                await Task.Delay(1);
            }
        }
    }

    [Fact]
    public async Task Files_read_straight_into_the_output_come_whole()
    {
        byte[] content = Pattern.Make(8, 3_000_000);
        string path = Pem.PathOf("large.bin");
        await File.WriteAllBytesAsync(path, content, TestContext.Current.CancellationToken);
        using Microsoft.Win32.SafeHandles.SafeFileHandle file = File.OpenHandle(path);
        Listener listener = await ServeTlsAsync(async connection =>
        {
            connection.Write("head"u8);
            for (long at = 0; await connection.ReadFileAsync(file, at, 256 * 1024) is int count and > 0; at += count)
            {
                await connection.FlushAsync(256 * 1024);
            }
        });
        SslStream stream = await ConnectTlsAsync(listener);
        byte[] all = await ReceiveToEndAsync(stream);
        Assert.Equal("head"u8.ToArray(), all[..4]);
        Assert.Equal(SHA256.HashData(content), SHA256.HashData(all.AsSpan(4)));
    }

    /// <summary>
    /// With no time for more than one handshake an iteration: those that wait do so in order, and what is established is served in between.
    /// </summary>
    [Fact]
    public async Task A_storm_of_handshakes_is_dealt_with_iteration_by_iteration()
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions() with { HandshakeTimePerIteration = TimeSpan.Zero });
        SslStream established = await ConnectTlsAsync(listener);
        using var stop = new CancellationTokenSource();
        Task<int> echoes = Task.Run(
            async () =>
            {
                int count = 0;
                for (; count == 0 || !stop.IsCancellationRequested; count++)
                {
                    await established.WriteAsync(new[] { (byte)count }, CancellationToken.None).AsTask().Within();
                    Assert.Equal([(byte)count], await ReceiveAsync(established, 1));
                }

                return count;
            },
            CancellationToken.None);
        await Task.WhenAll(Enumerable.Range(0, 100).Select(async id =>
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            using var stream = new SslStream(new NetworkStream(client.Socket));
            await stream.AuthenticateAsClientAsync(Trusting()).Within();
        }));
        await stop.CancelAsync();
        Assert.True(await echoes.Within() > 0);
        Assert.True(Terminator.Counters.HandshakesPutOff > 0, "No handshake was deferred: the test proves nothing.");
        Assert.Equal(0, Terminator.Counters.HandshakesFailed);
    }

    /// <summary>A client of TLS 1.3 sends as soon as it has sent the last of its handshake, which is deferred here.</summary>
    [Fact]
    public async Task What_comes_after_handshakes_that_wait_is_taken_whatever_it_is()
    {
        const int Bytes = 400_000;
        Listener listener = await ServeTlsAsync(
            static async connection =>
            {
                int taken = 0;
                while (taken < Bytes && await connection.ReadAsync() == ReadOutcome.Data)
                {
                    taken += connection.Input.Length;
                    connection.Consume(connection.Input.Length);
                }

                connection.Write([(byte)(taken == Bytes ? 1 : 0)]);
                await connection.FlushAsync();
            },
            TlsOptions() with { HandshakeTimePerIteration = TimeSpan.Zero });
        await Task.WhenAll(Enumerable.Range(0, 150).Select(async _ =>
        {
            using Client client = await Client.ConnectAsync(listener.EndPoint);
            using var stream = new SslStream(new NetworkStream(client.Socket));
            await stream.AuthenticateAsClientAsync(Trusting()).Within();
            await stream.WriteAsync(new byte[Bytes]).AsTask().Within();
            Assert.Equal([1], await ReceiveAsync(stream, 1));
        }));
        Assert.True(Terminator.Counters.HandshakesPutOff > 0, "No handshake was deferred: the test proves nothing.");
        Assert.Equal(0, Terminator.Counters.HandshakesFailed);
    }

    [Fact]
    public async Task Half_handshakes_that_go_away_while_they_wait_leave_nothing()
    {
        Listener listener = await ServeTlsAsync(Handlers.EchoAsync, TlsOptions() with { HandshakeTimePerIteration = TimeSpan.Zero });
        byte[] hello = await RecordHelloAsync();
        for (int round = 0; round < 5; round++)
        {
            Client[] clients = await Task.WhenAll(Enumerable.Range(0, 40).Select(_ => Client.ConnectAsync(listener.EndPoint)));
            await Task.WhenAll(clients.Select(client => client.SendAsync(hello)));
            foreach (Client client in clients)
            {
                client.Reset();
            }
        }

        await Waiting.UntilAsync(() => Reactor.Counters.Accepted == 200 && Reactor.Connections.Count == 0, "all slots were returned");
        Assert.Equal(0, Terminator.Counters.Sessions);
        SslStream stream = await ConnectTlsAsync(listener);
        await stream.WriteAsync(new byte[] { 3 }).AsTask().Within();
        Assert.Equal([3], await ReceiveAsync(stream, 1));
    }

    /// <summary>Printed, and held below what OpenSSL's buffers alone would take.</summary>
    [Fact]
    public async Task An_idle_connection_holds_no_buffers()
    {
        const int Count = 400;
        Listener listener = await ServeTlsAsync(WebHandler.ServeAsync);
        SslStream warm = await ConnectTlsAsync(listener);
        await warm.WriteAsync("GET /10 HTTP/1.1\r\n\r\n"u8.ToArray()).AsTask().Within();
        await ReceiveAsync(warm, 40);
        long before = Heap.BytesInUse();
        var clients = new List<SslStream>();
        for (int i = 0; i < Count; i++)
        {
            clients.Add(await ConnectTlsAsync(listener));
        }

        // Both sides' share: the clients here are OpenSSL's too, and have read and write buffers of 16 KiB that they keep. The server's are
        // given back when it has dealt with the last handshake, which its client does not wait for.
        await Waiting.UntilAsync(() => Terminator.Counters.HandshakesDone == Count + 1, "all handshakes were done");
        await Waiting.UntilAsync(() => (Heap.BytesInUse() - before) / Count < 80_000, "the server's buffers were given back");
        long each = (Heap.BytesInUse() - before) / Count;
        TestContext.Current.SendDiagnosticMessage($"An idle connection and its client take {each} bytes of the C library's heap.");
        await Waiting.UntilAsync(() => Reactor.Pools.Lent == 0, "the last tickets were sent and their blocks returned");
    }

    private static async Task<byte[]> RecordHelloAsync()
    {
        using var listener = new Socket(SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new System.Net.IPEndPoint(System.Net.IPAddress.IPv6Loopback, 0));
        listener.Listen();
        using var client = new TcpClient(AddressFamily.InterNetworkV6);
        await client.ConnectAsync((System.Net.IPEndPoint)listener.LocalEndPoint!);
        using Socket accepted = await listener.AcceptAsync();
        using var stream = new SslStream(client.GetStream());
        Task handshake = stream.AuthenticateAsClientAsync(Trusting());
        byte[] hello = new byte[4_096];
        int count = await accepted.ReceiveAsync(hello).Within();
        accepted.Close();
        await Assert.ThrowsAnyAsync<Exception>(() => handshake.Within());
        return hello[..count];
    }
}
