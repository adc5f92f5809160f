using System.Net;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Listening;

/// <summary>Clients in the middle of their handshake with a listener that stops.</summary>
public class HandshakeTests : EngineTest
{
    private const int AcceptsConnections = 30;
    private const int AttachFilter = 26;
    private const int DetachFilter = 27;

    /// <summary>Enough for the repetition of a lost segment, after 0.2 s and more.</summary>
    private static readonly TimeSpan HandshakeTime = TimeSpan.FromSeconds(2);

    // Sleeps: the kernel repeats what is lost by a clock of its own.
    [Theory]
    [Trait("Duration", "Full")]
    [InlineData(1)]
    [InlineData(2)]
    public async Task A_handshake_under_way_is_completed_and_who_comes_later_meets_the_next_listener(int reactors)
    {
        Listener narrow = await ServeAsync(Handlers.EchoAsync, Options() with { Reactors = reactors });
        int isWide = 0;
        Listener wide = await Group.ListenAsync(
            new IPEndPoint(IPAddress.Any, ((IPEndPoint)narrow.EndPoint).Port),
            connection =>
            {
                isWide++;
                return Handlers.EchoAsync(connection);
            },
            filters: null,
            settings: Group.ListenDefaults with { SharesPort = true }).Within();
        int[] sockets = SocketsOf(narrow.EndPoint);
        Assert.Equal(reactors, sockets.Length);

        // For the client the handshake is over.
        Array.ForEach(sockets, DropAcknowledgements);
        Client early = await ConnectAsync(narrow);
        await early.SendAsync("early");
        Task stop = narrow.StopAsync(HandshakeTime);
        Client late = await ConnectAsync(narrow);
        await late.SendAsync("late");
        Assert.Equal("late", await late.ReceiveTextAsync(4));
        Assert.Equal(1, isWide);

        Array.ForEach(sockets, DropNothing);
        Assert.Equal("early", await early.ReceiveTextAsync(5));
        Assert.Equal(1, isWide);
        await stop.Within();
        await wide.StopAsync().Within();
        await early.SendAsync("still");
        Assert.Equal("still", await early.ReceiveTextAsync(5));
    }

    [Fact]
    public async Task The_wait_for_handshakes_ends_with_the_group()
    {
        Listener listener = await ServeAsync(Handlers.EchoAsync);
        Task stop = listener.StopAsync(TimeSpan.FromHours(1));
        await Group.StopAsync(TimeSpan.Zero).Within();
        await stop.Within();
    }

    /// <summary>The sockets that listen on an address.</summary>
    private static int[] SocketsOf(EndPoint endPoint)
    {
        byte[] value = new byte[sizeof(int)];
        return
        [
            .. Directory.GetFiles("/proc/self/fd")
                .Select(static link => int.Parse(Path.GetFileName(link), System.Globalization.CultureInfo.InvariantCulture))
                .Where(fd => endPoint.Equals(SocketEndPoint.OfSocket(fd, out _))
                    && SocketCalls.GetOption(fd, SocketOptionNumber.LevelSocket, AcceptsConnections, value) > 0 && value[0] == 1),
        ];
    }

    /// <summary>A SYN passes, which leaves each handshake without its last segment.</summary>
    private static unsafe void DropAcknowledgements(int socket)
    {
        // struct sock_filter: code, jumps if true and if false, operand. The flags of a segment are its byte 13, and SYN is 2.
        ulong[] program =
        [
            Instruction(0x30, 0, 0, 13),
            Instruction(0x45, 0, 1, 2),
            Instruction(0x06, 0, 0, uint.MaxValue),
            Instruction(0x06, 0, 0, 0),
        ];
        fixed (ulong* first = program)
        {
            nint* value = stackalloc nint[] { program.Length, (nint)first };
            var bytes = new ReadOnlySpan<byte>(value, 2 * sizeof(nint));
            Assert.Equal(0, SocketCalls.SetOption(socket, SocketOptionNumber.LevelSocket, AttachFilter, bytes));
        }
    }

    private static void DropNothing(int socket) =>
        Assert.Equal(0, SocketCalls.SetOption(socket, SocketOptionNumber.LevelSocket, DetachFilter, 0));

    private static ulong Instruction(ushort code, byte ifTrue, byte ifFalse, uint operand) =>
        code | ((ulong)ifTrue << 16) | ((ulong)ifFalse << 24) | ((ulong)operand << 32);
}
