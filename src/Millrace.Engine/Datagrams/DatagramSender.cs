using Millrace.Engine.Operations;
using Millrace.Interop;

namespace Millrace.Engine.Datagrams;

/// <summary>
/// The output of a <see cref="DatagramSocket"/>: its sends in flight and their memory. A send that the kernel refuses is counted and
/// forgotten, as if the network had lost it. Reactor thread.
/// </summary>
internal sealed unsafe class DatagramSender
{
    /// <summary>The kernel's limit of segments of a send (UDP_MAX_SEGMENTS before Linux 6.9; 128 since).</summary>
    public const int SegmentsMax = 64;

    /// <summary>The largest payload of IPv4: 65,535 bytes without the headers of IP and UDP.</summary>
    public const int BytesMax = 65_507;

    /// <summary>Half of the default submission queue, so that a full socket leaves room for others.</summary>
    private const int SendsMax = 256;

    private readonly DatagramSocket _socket;
    private readonly Reactor _reactor;
    private readonly DatagramCounters _counters;
    private readonly DatagramSendMemory _memory;
    private readonly Stack<DatagramSend> _spares = new();
    private readonly List<DatagramSend> _inFlight = [];
    private readonly SegmentRefusals _refusals = new();
    private readonly bool _canSegment;
    private readonly bool _isIPv6;
    private readonly bool _isBoundToAny;
    private DatagramSendHead* _reserved;

    public DatagramSender(DatagramSocket socket, int descriptor, bool isIPv6)
    {
        _socket = socket;
        _reactor = socket.Reactor;
        _counters = socket.Counters;
        _memory = new DatagramSendMemory(_reactor.Pools);
        _isIPv6 = isIPv6;
        _isBoundToAny = socket.LocalAddress.IsAny;
        Descriptor = descriptor;
        _canSegment = _reactor.Backend.CanSegment(descriptor);
    }

    public int Descriptor { get; }

    public bool IsIdle => _inFlight.Count == 0;

    /// <summary>Half of the room is free: with less, the owner would be called for each send that completes.</summary>
    public bool HasRoom => _inFlight.Count <= SendsMax / 2 && _memory.Chunks <= DatagramSendMemory.ChunksMax / 2;

    /// <summary>A buffer for a send; empty if there is no room.</summary>
    public Span<byte> Reserve(int bytes)
    {
        _reserved = _inFlight.Count < SendsMax ? _memory.TryReserve(bytes) : null;
        return _reserved is null ? default : new Span<byte>(DatagramSendHead.PayloadOf(_reserved), bytes);
    }

    public void Send(int bytes, int segmentBytes, in DatagramAddress to, in DatagramAddress from, DatagramEcn ecn)
    {
        DatagramSendHead* head = _reserved;
        _reserved = null;
        DatagramAddress source = _isBoundToAny ? from : default;
        if (bytes == 0)
        {
            return;
        }

        if (!DatagramSendHead.TryWrite(head, bytes, segmentBytes, to, source, ecn, _isIPv6))
        {
            NoteResult(-Errno.EAFNOSUPPORT, 1);
            return;
        }

        DatagramSend send = _spares.TryPop(out DatagramSend? spare) ? spare : new DatagramSend(_reactor, this);
        send.Index = _inFlight.Count;
        _inFlight.Add(send);
        DatagramSendChunk chunk = _memory.Commit(bytes);
        if (!send.TryBegin(head, chunk, bytes, segmentBytes, to))
        {
            // The reactor ends.
            OnEnded(send, chunk);
        }
    }

    /// <summary>Ends the sends that wait for room in the socket; what it takes at once is still sent.</summary>
    public void Cancel()
    {
        // By index: none ends before the next iteration.
        for (int i = 0; i < _inFlight.Count; i++)
        {
            _inFlight[i].End(OperationEnd.Stopped);
        }
    }

    /// <summary>Gives back memory in which nothing is in flight.</summary>
    public void Trim() => _memory.Trim();

    /// <summary>Whether the kernel cuts a send to an address into datagrams.</summary>
    public bool CanSegment(in DatagramAddress to) => _canSegment && (_refusals.IsEmpty || !_refusals.Contains(to, _reactor.NowMs));

    public void OnSegmentsRefused(in DatagramAddress to) => _refusals.Add(to, _reactor.NowMs);

    /// <param name="result">What the kernel returned: bytes, or -errno.</param>
    /// <param name="datagrams">How many they were.</param>
    public void NoteResult(int result, int datagrams)
    {
        if (result >= 0)
        {
            _counters.Sends++;
            _counters.Sent += datagrams;
            _counters.SentBytes += result;
            _reactor.Counters.BytesSent += result;
        }
        else if (result != -Errno.ECANCELED)
        {
            _counters.SendErrors++;
            _counters.TooLarge += result == -Errno.EMSGSIZE ? 1 : 0;
        }
    }

    public void OnEnded(DatagramSend send, DatagramSendChunk chunk)
    {
        DatagramSend last = _inFlight[^1];
        _inFlight[send.Index] = last;
        last.Index = send.Index;
        _inFlight.RemoveAt(_inFlight.Count - 1);
        _spares.Push(send);
        _memory.Return(chunk);
        _socket.OnSent();
    }
}
