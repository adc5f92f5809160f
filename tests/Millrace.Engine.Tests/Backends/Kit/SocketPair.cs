using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Backends.Kit;

/// <summary>A connection: a raw descriptor, non-blocking as engines get theirs, for the backend; .NET's own socket for the peer.</summary>
internal sealed partial class SocketPair : IDisposable
{
    private SocketPair(int ours, Socket peer)
    {
        Ours = ours;
        Peer = peer;
    }

    /// <summary>The test's to close, through its backend.</summary>
    public int Ours { get; }

    public Socket Peer { get; }

    public static SocketPair Tcp()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        return Connect(listener, new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true });
    }

    public static SocketPair Unix()
    {
        using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(new UnixDomainSocketEndPoint($"\0millrace-pair-{Guid.NewGuid():N}"));
        return Connect(listener, new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified));
    }

    /// <summary>Everything up to the end, or what came before a reset.</summary>
    public byte[] ReceiveToEnd()
    {
        using var all = new MemoryStream();
        byte[] buffer = new byte[64 * 1024];
        Peer.ReceiveTimeout = 15_000;
        try
        {
            for (int count; (count = Peer.Receive(buffer)) > 0;)
            {
                all.Write(buffer, 0, count);
            }
        }
        catch (SocketException reset) when (reset.SocketErrorCode == SocketError.ConnectionReset)
        {
            // What a test that resets wants.
        }

        return all.ToArray();
    }

    /// <summary>Exactly so many bytes.</summary>
    public byte[] Receive(int count)
    {
        byte[] bytes = new byte[count];
        Peer.ReceiveTimeout = 15_000;
        for (int had = 0; had < count;)
        {
            int more = Peer.Receive(bytes, had, count - had, SocketFlags.None);
            Assert.True(more > 0, $"The end came after {had} of {count} bytes.");
            had += more;
        }

        return bytes;
    }

    /// <summary>The same connection under another descriptor, which must be free. This pair is no more.</summary>
    public SocketPair MovedTo(int descriptor)
    {
        Move(Ours, descriptor);
        return new SocketPair(descriptor, Peer);
    }

    /// <summary>A socket under another descriptor, which must be free.</summary>
    public static void Move(int socket, int descriptor)
    {
        const int DuplicateCloseOnExec = 1030;
        Assert.Equal(descriptor, fcntl(socket, DuplicateCloseOnExec, descriptor));
        Assert.Equal(0, SocketCalls.Close(socket));
    }

    public void ResetPeer()
    {
        Peer.LingerState = new LingerOption(true, 0);
        Peer.Dispose();
    }

    public void Dispose() => Peer.Dispose();

    [LibraryImport("libc")]
    private static partial int fcntl(int descriptor, int command, nint argument);

    private static SocketPair Connect(Socket listener, Socket peer)
    {
        listener.Listen();
        peer.Connect(listener.LocalEndPoint!);
        int ours = SocketCalls.Accept((int)listener.Handle);
        Assert.True(ours >= 0);
        return new SocketPair(ours, peer);
    }
}
