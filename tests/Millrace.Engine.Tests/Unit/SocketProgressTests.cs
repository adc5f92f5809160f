using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Backends;

namespace Millrace.Engine.Tests.Unit;

/// <summary>Progress on real sockets; the offset it reads at is compared with the kernel's headers in the tests of Interop.</summary>
public class SocketProgressTests
{
    [Fact]
    public async Task Of_tcp_it_is_what_the_peer_acknowledged()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        using var peer = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await peer.ConnectAsync(listener.LocalEndpoint);
        using Socket sender = await listener.AcceptSocketAsync();
        long before = SocketProgress.Measure((int)sender.Handle);

        for (int sent = 0; sent < 300_000; sent += 30_000)
        {
            await sender.SendAsync(new byte[30_000]);
            await ReceiveAsync(peer, 30_000);
        }

        Assert.True(SpinWait.SpinUntil(() => SocketProgress.Measure((int)sender.Handle) - before == 300_000, TimeSpan.FromSeconds(60)));
    }

    [Fact]
    public async Task Of_a_unix_socket_it_grows_as_the_peer_reads()
    {
        string path = Path.Combine(Path.GetTempPath(), $"millrace-progress-{Guid.NewGuid():N}.sock");
        using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(new UnixDomainSocketEndPoint(path));
        try
        {
            listener.Listen();
            using var peer = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            await peer.ConnectAsync(new UnixDomainSocketEndPoint(path));
            using Socket sender = await listener.AcceptAsync();
            Assert.Equal(0, SocketProgress.Measure((int)sender.Handle));
            await sender.SendAsync(new byte[10_000]);

            long unread = SocketProgress.Measure((int)sender.Handle);
            Assert.True(unread < 0);
            Assert.Equal(unread, SocketProgress.Measure((int)sender.Handle));
            await ReceiveAsync(peer, 10_000);

            Assert.Equal(0, SocketProgress.Measure((int)sender.Handle));
        }
        finally
        {
            File.Delete(path);
        }
    }

    private static async Task ReceiveAsync(Socket socket, int bytes)
    {
        byte[] buffer = new byte[bytes];
        for (int received = 0; received < bytes;)
        {
            int count = await socket.ReceiveAsync(buffer);
            Assert.NotEqual(0, count);
            received += count;
        }
    }
}
