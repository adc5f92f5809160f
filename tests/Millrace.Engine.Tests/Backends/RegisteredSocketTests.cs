using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Backends;

/// <summary>Sockets in a ring's table of files, asked of the ring directly: what a number means that is used again.</summary>
public abstract class RegisteredSocketTests(bool isPolled) : BackendTest(BackendKind.IoUring, isPolled, isRegistered: true)
{
    [Theory]
    [InlineData(256, 1)]
    [InlineData(256, 1_000)]
    [InlineData(1, 1)]
    public unsafe void A_number_that_is_used_again_is_the_socket_that_bears_it_now(int submissions, int slots)
    {
        const int Sockets = 100;
        using DirectBackend kernel = Open(Small with { SubmissionEntries = submissions, RegisteredFilesMost = slots });
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        Socket[] peers = [.. Enumerable.Range(0, Sockets).Select(_ => ConnectTo(listener))];
        var numbers = new HashSet<int>();
        for (int i = 0; i < Sockets; i++)
        {
            int ours = SocketCalls.Accept((int)listener.Handle);
            numbers.Add(ours);
            kernel.Backend.SubmitReceive(ReceiveToken, ours);
            kernel.Backend.SubmitSend(SendToken, ours, kernel.Memory(Pattern.Make(i, 50)), 50);
            Assert.Equal(50, kernel.Next(SendToken).Result);
            peers[i].Send(Pattern.Make(-i, 70));
            Pattern.Check(-i, kernel.Receive(ReceiveToken, 70));
            kernel.Cancel(ReceiveToken);

            // And no turn before the next socket, which has the number and the slot.
            kernel.Backend.CloseSocket(ours);
        }

        Assert.True(numbers.Count < Sockets, "No number was used again: the test proves nothing.");
        kernel.Turn(timeoutMs: 0);
        for (int i = 0; i < Sockets; i++)
        {
            byte[] got = ReceiveToEnd(peers[i]);
            Assert.Equal(50, got.Length);
            Pattern.Check(i, got);
            peers[i].Dispose();
        }
    }

    [Fact]
    public void What_was_closed_last_ends_for_its_peer_with_the_backend()
    {
        using SocketPair pair = SocketPair.Tcp();
        using (DirectBackend kernel = Open())
        {
            kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
            kernel.ExpectNothing(ReceiveToken);
            kernel.Cancel(ReceiveToken);
            kernel.Backend.CloseSocket(pair.Ours);
        }

        Assert.Empty(pair.ReceiveToEnd());
    }

    [Fact]
    public void A_trial_finds_nothing_wrong_with_it() => Assert.Null(BackendProbe.RunWithFiles());

    private static Socket ConnectTo(Socket listener)
    {
        var peer = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true, ReceiveTimeout = 15_000 };
        peer.Connect(listener.LocalEndPoint!);
        return peer;
    }

    /// <summary>A reset throws, and so does an end that does not come.</summary>
    private static byte[] ReceiveToEnd(Socket peer)
    {
        using var stream = new NetworkStream(peer);
        using var all = new MemoryStream();
        stream.CopyTo(all);
        return all.ToArray();
    }
}

[Trait("Backend", "io_uring")]
public class UringRegisteredSocketTests() : RegisteredSocketTests(isPolled: false);

[Trait("Backend", "io_uring")]
public class PolledUringRegisteredSocketTests() : RegisteredSocketTests(isPolled: true);
