using Millrace.Engine.Operations;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Datagrams;

/// <summary>
/// A UDP socket on its reactor: receives until it is closed, and sends without waiting. Owns the descriptor, which is bound and usually
/// one of <see cref="DatagramSockets"/>. Losing datagrams is the network's habit: what the kernel refuses or has no room for is counted
/// and forgotten. Reactor thread, except that others may read <see cref="Counters"/>.
/// </summary>
internal sealed class DatagramSocket
{
    private const int AddressBytesMax = 128;

    private static readonly Action<object?> RunEvents = static socket => ((DatagramSocket)socket!).CallHandler();

    private readonly IDatagramHandler _handler;
    private readonly DatagramReceiver _receiver;
    private readonly DatagramSender _sender;
    private bool _areEventsDue;
    private bool _hasReceived;
    private bool _wantsRoom;
    private bool _waitsForMemory;

    /// <param name="reactor">Its reactor, on whose thread this is called.</param>
    /// <param name="descriptor">A bound UDP socket, owned from here on, unless this throws.</param>
    /// <param name="handler">Gets what arrives, after <see cref="Start"/>.</param>
    /// <param name="drops">Where the descriptor is one of several of a socket: what they have in common. Null: it is the only one.</param>
    /// <exception cref="EngineException">The reactor has no memory for the buffers of datagrams.</exception>
    public DatagramSocket(Reactor reactor, int descriptor, IDatagramHandler handler, KernelDropCount? drops = null)
    {
        reactor.AssertReactorThread();
        reactor.Backend.PrepareDatagrams();
        Reactor = reactor;
        Descriptor = descriptor;
        _handler = handler;
        KernelDrops = drops ?? new KernelDropCount();
        Span<byte> address = stackalloc byte[AddressBytesMax];
        int bytes = reactor.Backend.LocalAddress(descriptor, address);
        LocalAddress = DatagramAddress.Read(address[..Math.Max(bytes, 0)]);
        bool isIPv6 = bytes >= sizeof(ushort) && BitConverter.ToUInt16(address) == AddressFamilyNumber.InterNetworkV6;
        _receiver = new DatagramReceiver(this);
        _sender = new DatagramSender(this, descriptor, isIPv6);
        reactor.DatagramSockets.Add(this);
    }

    public Reactor Reactor { get; }

    public int Descriptor { get; }

    public DatagramCounters Counters { get; } = new();

    /// <summary>The drops that are counted already.</summary>
    public KernelDropCount KernelDrops { get; }

    /// <summary>The address that it is bound to.</summary>
    public DatagramAddress LocalAddress { get; }

    /// <summary>The largest number of bytes of one send, of one or more datagrams.</summary>
    public int SendBytesMax { get; } = DatagramSender.BytesMax;

    /// <summary>
    /// Datagrams of one send to an address: 1 if the kernel cannot cut a send into several (UDP_SEGMENT), which may turn out later.
    /// </summary>
    public int SegmentsMaxTo(in DatagramAddress to) => _sender.CanSegment(to) ? DatagramSender.SegmentsMax : 1;

    public bool IsClosing { get; private set; }

    /// <summary>Starts to receive. Before anything is sent.</summary>
    public void Start()
    {
        Reactor.AssertReactorThread();
        if (!_receiver.TryStart())
        {
            Close();
        }
    }

    /// <summary>
    /// Memory for one send, valid until the callback or action of the reactor ends that asked for it; the next call gives the same, unless
    /// something was sent meanwhile. Empty if too much is in flight, or the reactor's memory is short:
    /// <see cref="IDatagramHandler.OnRoom"/> follows.
    /// </summary>
    public Span<byte> GetSendBuffer(int bytes)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(bytes);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(bytes, SendBytesMax);
        if (IsClosing)
        {
            return default;
        }

        Span<byte> buffer = _sender.Reserve(bytes);
        if (!buffer.IsEmpty)
        {
            // Gives it back if nothing is sent.
            ScheduleEvents();
            return buffer;
        }

        Counters.RoomMissing++;
        _wantsRoom = true;
        if (_sender.HasRoom && !_waitsForMemory)
        {
            _waitsForMemory = true;
            _receiver.WakeAfterPause();
        }

        return default;
    }

    /// <summary>
    /// Sends what was written into the buffer of <see cref="GetSendBuffer"/>; it goes to the kernel with the iteration's end.
    /// </summary>
    /// <param name="bytes">How much of the buffer; 0: nothing is sent.</param>
    /// <param name="segmentBytes">The size of each datagram but the last, which may be shorter.</param>
    /// <param name="to">The destination.</param>
    /// <param name="from">The source address, for a socket that is bound to all; the default: the kernel chooses.</param>
    /// <param name="ecn">Of all datagrams.</param>
    public void Send(int bytes, int segmentBytes, in DatagramAddress to, in DatagramAddress from, DatagramEcn ecn)
    {
        if (!IsClosing)
        {
            _sender.Send(bytes, segmentBytes, to, from, ecn);
        }
    }

    /// <summary>
    /// Ends the receive, and sends that the socket has no room for; what it has room for is still sent. The handler is called only by
    /// <see cref="IDatagramHandler.OnClosed"/> then. Nothing if it is closing already.
    /// </summary>
    public void Close()
    {
        Reactor.AssertReactorThread();
        if (IsClosing)
        {
            return;
        }

        IsClosing = true;
        if (!_receiver.IsIdle)
        {
            _receiver.End(OperationEnd.Stopped);
        }

        _sender.Cancel();
        ScheduleEvents();
    }

    public void OnReceived(in ReceivedDatagrams received)
    {
        if (IsClosing)
        {
            return;
        }

        _hasReceived = true;
        ScheduleEvents();
        Span<byte> bytes = received.Bytes;
        DatagramAddress to = received.To == default ? LocalAddress : received.To;
        _handler.OnReceived(this, bytes, received.SegmentBytes, received.From, to, received.Ecn);
    }

    public void OnReceiveEnded() => ScheduleEvents();

    public void OnSent()
    {
        if (_wantsRoom || IsClosing)
        {
            ScheduleEvents();
        }
    }

    public void OnTime()
    {
        _waitsForMemory = false;
        if (_wantsRoom)
        {
            ScheduleEvents();
        }
    }

    private void ScheduleEvents()
    {
        if (!_areEventsDue)
        {
            _areEventsDue = true;
            Reactor.Defer(RunEvents, this);
        }
    }

    private void CallHandler()
    {
        if (_hasReceived && !IsClosing)
        {
            _hasReceived = false;
            _handler.OnReceivedAll(this);
        }

        if (_wantsRoom && !_waitsForMemory && !IsClosing && _sender.HasRoom)
        {
            _wantsRoom = false;
            _handler.OnRoom(this);
        }

        _areEventsDue = false;
        _sender.Trim();
        if (IsClosing && _receiver.IsIdle && _sender.IsIdle && Reactor.DatagramSockets.Remove(this))
        {
            Reactor.Backend.CloseSocket(Descriptor);
            _handler.OnClosed(this);
        }
    }
}
