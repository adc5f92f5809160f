using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Millrace.Engine.Listening;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Datagrams;

/// <summary>
/// A bound address with its UDP sockets, one per reactor, among which the kernel distributes datagrams by QUIC's connection id
/// (<see cref="DatagramSteering"/>), or by a hash of the addresses where it has no such program. Owns those that are not taken. One thread
/// at a time.
/// </summary>
internal sealed class DatagramSockets : IDisposable
{
    /// <summary>A socket that was taken.</summary>
    private const int Taken = -1;

    private readonly int[] _sockets;

    private DatagramSockets(int[] sockets, IPEndPoint endPoint, uint[] steeringKey, bool isSteered)
    {
        _sockets = sockets;
        EndPoint = endPoint;
        SteeringKey = steeringKey;
        IsSteered = isSteered;
        ReceiveBufferBytes = ReceiveBufferOf(sockets[0]);
        CanSegment = CanUse(sockets[0], SocketOptionNumber.UdpSegment);
        CanCoalesce = CanUse(sockets[0], SocketOptionNumber.UdpCoalescing);
    }

    /// <summary>The address as bound: port 0 is replaced by the assigned port.</summary>
    public IPEndPoint EndPoint { get; }

    /// <summary>How many there are.</summary>
    public int Count => _sockets.Length;

    /// <summary>Whether the kernel chooses the socket by a datagram's connection id. If not, any reactor may get any datagram.</summary>
    public bool IsSteered { get; }

    /// <summary>The secret by which a datagram's connection id names its socket, also where the kernel does not use it.</summary>
    public IReadOnlyList<uint> SteeringKey { get; }

    /// <summary>What descriptors of one socket have in common; null if each has its own.</summary>
    public KernelDropCount? CommonDrops { get; private init; }

    /// <summary>What the kernel has granted.</summary>
    public int ReceiveBufferBytes { get; }

    /// <summary>Whether the kernel cuts sends into datagrams (UDP_SEGMENT).</summary>
    public bool CanSegment { get; }

    /// <summary>Whether a receive may bring several datagrams (UDP_GRO).</summary>
    public bool CanCoalesce { get; }

    /// <inheritdoc cref="Open(IPEndPoint, int, DatagramSettings)"/>
    public static DatagramSockets Open(IPEndPoint endPoint, int reactors) => Open(endPoint, reactors, new DatagramSettings());

    /// <summary>Binds an address for this number of reactors.</summary>
    /// <exception cref="EngineException">The address is not available; the message says why.</exception>
    public static DatagramSockets Open(IPEndPoint endPoint, int reactors, DatagramSettings settings)
    {
        var sockets = new List<int>();
        try
        {
            // As for TCP: the first socket binds without SO_REUSEPORT, so that an address in use is an error, and shares it then.
            int first = Bind(endPoint, settings, isSibling: settings.SharesPort);
            sockets.Add(first);
            var actual = (IPEndPoint)SocketEndPoint.OfSocket(first, out _)!;
            if (reactors > 1 || settings.AllowsSharing)
            {
                AllowSiblings(first, actual);
            }

            while (sockets.Count < reactors)
            {
                sockets.Add(Bind(actual, settings, isSibling: true));
            }

            uint[] key = DatagramSteering.CreateKey();
            bool isSteered = reactors > 1 && settings.IsSteered && DatagramSteering.TryAttach(first, reactors, key);
            return new DatagramSockets([.. sockets], actual, key, isSteered);
        }
        catch
        {
            sockets.ForEach(static socket => SocketCalls.Close(socket));
            throw;
        }
    }

    /// <summary>
    /// Takes duplicates, for so many reactors, of a UDP socket that another process has bound; the original stays with its owner. They are
    /// one socket: which reactor gets a datagram is not defined.
    /// </summary>
    /// <exception cref="EngineException">It is no UDP socket; the message says so.</exception>
    public static DatagramSockets Acquire(int descriptor, int reactors, DatagramSettings settings)
    {
        if (SocketEndPoint.OfSocket(descriptor, out int result) is not IPEndPoint endPoint || !SocketEndPoint.IsDatagram(descriptor))
        {
            string reason = result < 0 ? Errno.Describe(result) : "it is not an IP socket for datagrams";
            throw new EngineException($"Descriptor {descriptor} cannot be used for UDP: {reason}.");
        }

        var sockets = new List<int>();
        try
        {
            Configure(descriptor, endPoint);
            Enlarge(descriptor, endPoint, settings.ReceiveBufferBytes);
            while (sockets.Count < reactors)
            {
                int socket = SocketCalls.Duplicate(descriptor);
                Require(socket, endPoint);
                sockets.Add(socket);
            }

            return new DatagramSockets([.. sockets], endPoint, DatagramSteering.CreateKey(), isSteered: false)
            {
                CommonDrops = new KernelDropCount(DropsOf(descriptor)),
            };
        }
        catch
        {
            sockets.ForEach(static socket => SocketCalls.Close(socket));
            throw;
        }
    }

    /// <summary>
    /// A client's socket, on any port, for addresses of the family of this one. Thread of the reactor.
    /// </summary>
    /// <exception cref="EngineException">No socket, port or memory is available; the message says why.</exception>
    public static DatagramSocket OpenClient(Reactor reactor, IPEndPoint remote, IDatagramHandler handler)
    {
        IPAddress any = remote.AddressFamily == AddressFamily.InterNetworkV6 ? IPAddress.IPv6Any : IPAddress.Any;
        using DatagramSockets opened = Open(new IPEndPoint(any, 0), reactors: 1);
        var socket = new DatagramSocket(reactor, opened._sockets[0], handler);
        _ = opened.Take(0);
        return socket;
    }

    /// <summary>Transfers a socket to the caller, once.</summary>
    public int Take(int index)
    {
        int socket = _sockets[index];
        ObjectDisposedException.ThrowIf(socket == Taken, this);
        _sockets[index] = Taken;
        return socket;
    }

    public void Dispose()
    {
        for (int i = 0; i < _sockets.Length; i++)
        {
            if (_sockets[i] != Taken)
            {
                _ = SocketCalls.Close(_sockets[i]);
                _sockets[i] = Taken;
            }
        }
    }

    private static int Bind(IPEndPoint endPoint, DatagramSettings settings, bool isSibling)
    {
        int socket = SocketCalls.Socket(SocketEndPoint.Family(endPoint), SocketTypeNumber.Datagram | SocketTypeNumber.NonBlocking);
        Require(socket, endPoint);
        try
        {
            if (endPoint.AddressFamily == AddressFamily.InterNetworkV6)
            {
                int isIPv6Only = endPoint.Address.Equals(IPAddress.IPv6Any) ? 0 : 1;
                Set(socket, endPoint, SocketOptionNumber.LevelIPv6, SocketOptionNumber.IPv6Only, isIPv6Only);
            }

            Configure(socket, endPoint);
            SetReceiveBuffer(socket, endPoint, settings.ReceiveBufferBytes);
            if (isSibling)
            {
                AllowSiblings(socket, endPoint);
            }

            Require(SocketCalls.Bind(socket, SocketEndPoint.Encode(endPoint)), endPoint);
            return socket;
        }
        catch
        {
            _ = SocketCalls.Close(socket);
            throw;
        }
    }

    private static void Configure(int socket, IPEndPoint endPoint)
    {
        // A socket of IPv6 that is bound to all addresses receives from IPv4 too: it needs the options of both.
        Set(socket, endPoint, SocketOptionNumber.LevelIP, SocketOptionNumber.ReceiveTypeOfService, 1);
        Set(socket, endPoint, SocketOptionNumber.LevelIP, SocketOptionNumber.MtuDiscovery, SocketOptionNumber.MtuProbe);
        if (endPoint.AddressFamily == AddressFamily.InterNetworkV6)
        {
            Set(socket, endPoint, SocketOptionNumber.LevelIPv6, SocketOptionNumber.ReceiveTrafficClass, 1);
            Set(socket, endPoint, SocketOptionNumber.LevelIPv6, SocketOptionNumber.IPv6MtuDiscovery, SocketOptionNumber.MtuProbe);
            Set(socket, endPoint, SocketOptionNumber.LevelIPv6, SocketOptionNumber.ReceiveIPv6PacketInfo, 1);
        }
        else
        {
            Set(socket, endPoint, SocketOptionNumber.LevelIP, SocketOptionNumber.PacketInfo, 1);
        }

        Set(socket, endPoint, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReceiveDrops, 1);
        // Kernels before 5.0 pass each datagram alone.
        _ = SocketCalls.SetOption(socket, SocketOptionNumber.LevelUdp, SocketOptionNumber.UdpCoalescing, 1);
    }

    private static void SetReceiveBuffer(int socket, IPEndPoint endPoint, int bytes)
    {
        if (SocketCalls.SetOption(socket, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReceiveBufferForce, bytes) < 0)
        {
            // Without the right, the kernel gives as much as the host allows.
            Set(socket, endPoint, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReceiveBuffer, bytes);
        }
    }

    /// <summary>Its owner may have given it more than the host allows this process: then it stays as it is.</summary>
    private static void Enlarge(int socket, IPEndPoint endPoint, int bytes)
    {
        int sample = SocketCalls.Socket(SocketEndPoint.Family(endPoint), SocketTypeNumber.Datagram | SocketTypeNumber.NonBlocking);
        Require(sample, endPoint);
        try
        {
            SetReceiveBuffer(sample, endPoint, bytes);
            if (ReceiveBufferOf(sample) > ReceiveBufferOf(socket))
            {
                SetReceiveBuffer(socket, endPoint, bytes);
            }
        }
        finally
        {
            _ = SocketCalls.Close(sample);
        }
    }

    /// <summary>The kernel reports the double.</summary>
    private static int ReceiveBufferOf(int socket) =>
        NumberOf(socket, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReceiveBuffer) / 2;

    /// <summary>What the kernel has dropped already; 0 if it does not say.</summary>
    private static uint DropsOf(int socket)
    {
        Span<uint> numbers = stackalloc uint[SocketOptionNumber.MemoryDrops + 1];
        numbers.Clear();
        _ = SocketCalls.GetOption(
            socket, SocketOptionNumber.LevelSocket, SocketOptionNumber.MemoryInfo, MemoryMarshal.AsBytes(numbers));
        return numbers[SocketOptionNumber.MemoryDrops];
    }

    private static bool CanUse(int socket, int udpOption) => NumberOf(socket, SocketOptionNumber.LevelUdp, udpOption) >= 0;

    /// <summary>An option that is a number, or -errno.</summary>
    private static int NumberOf(int socket, int level, int name)
    {
        Span<byte> value = stackalloc byte[sizeof(int)];
        int result = SocketCalls.GetOption(socket, level, name, value);
        return result < 0 ? result : BitConverter.ToInt32(value);
    }

    private static void AllowSiblings(int socket, IPEndPoint endPoint) =>
        Set(socket, endPoint, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReusePort, 1);

    private static void Set(int socket, IPEndPoint endPoint, int level, int name, int value) =>
        Require(SocketCalls.SetOption(socket, level, name, value), endPoint);

    private static void Require(int result, IPEndPoint endPoint)
    {
        if (result < 0)
        {
            throw SocketEndPoint.Refusal(endPoint, -result);
        }
    }
}

/// <summary>The settings of UDP sockets besides their address.</summary>
internal sealed record DatagramSettings
{
    /// <summary>Whether another socket of this process is known to use the port, on overlapping addresses.</summary>
    public bool SharesPort { get; init; }

    /// <summary>Whether a later socket of this user may use the port, on overlapping addresses.</summary>
    public bool AllowsSharing { get; init; }

    /// <summary>Whether the kernel is asked to choose sockets by connection ids.</summary>
    public bool IsSteered { get; init; } = true;

    /// <summary>
    /// The receive buffer of each socket: what arrives while an iteration of the loop runs must fit, or it is lost. 2 MB are 16 ms of a
    /// gigabit per second. The host's limit (net.core.rmem_max, 208 KiB by default) cuts it without CAP_NET_ADMIN.
    /// </summary>
    public int ReceiveBufferBytes { get; init; } = 2 * 1024 * 1024;
}
