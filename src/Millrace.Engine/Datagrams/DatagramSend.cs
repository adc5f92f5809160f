using Millrace.Engine.Backends;
using Millrace.Engine.Operations;
using Millrace.Interop;

namespace Millrace.Engine.Datagrams;

/// <summary>
/// One send of a <see cref="DatagramSender"/>, which reuses it. If the kernel cannot cut it into datagrams (EIO: the device has no
/// checksums), it sends them one by one. Reactor thread; its memory is the kernel's until it has completed.
/// </summary>
internal sealed unsafe class DatagramSend(Reactor reactor, DatagramSender sender) : ReactorOperation(reactor, OperationKind.SendDatagram)
{
    private DatagramSendHead* _head;
    private DatagramSendChunk _chunk = null!;
    private int _bytes;
    private int _segmentBytes;
    private DatagramAddress _to;

    /// <summary>Bytes that are sent or given up, while it sends one by one; else -1.</summary>
    private int _offset;

    /// <summary>Its index among those in flight.</summary>
    public int Index { get; set; }

    /// <summary>Submits it; false if the reactor ends.</summary>
    public bool TryBegin(DatagramSendHead* head, DatagramSendChunk chunk, int bytes, int segmentBytes, in DatagramAddress to)
    {
        if (!TryEnter(CancellationToken.None, out _))
        {
            return false;
        }

        _head = head;
        _to = to;
        (_chunk, _bytes, _segmentBytes, _offset) = (chunk, bytes, segmentBytes, -1);
        Submit();
        return true;
    }

    protected override void Completed(in Completion completion)
    {
        int result = completion.Result;
        if (_offset < 0 && result == -Errno.EIO && _segmentBytes < _bytes)
        {
            sender.OnSegmentsRefused(_to);
            DatagramSendHead.RemoveSegments(_head);
            _offset = 0;
        }
        else
        {
            int count = _offset < 0 ? (_bytes + _segmentBytes - 1) / _segmentBytes : 1;
            sender.NoteResult(result, count);
            _offset = _offset < 0 ? _bytes : _offset + _segmentBytes;
        }

        if (_offset < _bytes && !IsEnding)
        {
            DatagramSendHead.SetPart(_head, _offset, Math.Min(_segmentBytes, _bytes - _offset));
            Submit();
            return;
        }

        Leave();
        DatagramSendChunk chunk = _chunk;
        _head = null;
        _chunk = null!;
        sender.OnEnded(this, chunk);
    }

    private void Submit() =>
        Reactor.Backend.SubmitSendDatagram(BeginSubmit(), sender.Descriptor, DatagramSendHead.MessageOf(_head));
}
