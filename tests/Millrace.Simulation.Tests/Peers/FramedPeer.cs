using System.Globalization;
using Millrace.Simulation.Tests.Kernel;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Peers;

/// <summary>As <see cref="EchoPeer"/>, to a server with filters: frames within frames, and a last word of each.</summary>
internal sealed class FramedPeer : Peer
{
    private readonly SimulatedListener _listener;
    private readonly ReadOnlyMemory<byte> _plain;
    private readonly byte[] _wire;
    private readonly List<byte>[] _pending;
    private int _sent;
    private int _received;
    private bool _hadLastWord;

    public FramedPeer(World world, SimulationRun run, int number, PeerBehaviour behaviour, SimulatedListener listener)
        : base(world, run, number, behaviour)
    {
        _listener = listener;
        int pieceBytes = Math.Min(world.Shape.SendPieceBytes, world.Shape.ChunkBytes);
        _plain = Marker.Of(number + 1)[..world.Random.Between(1, Math.Min(100 * pieceBytes, 20_000))];
        _wire = _plain.ToArray();
        _pending = [.. ToyFilter.Masks.Select(static _ => new List<byte>())];

        // The innermost first.
        foreach (byte mask in ToyFilter.Masks.Reverse())
        {
            var framed = new List<byte>();
            ToyFilter.Frame(_wire, mask, framed.AddRange);
            _wire = [.. framed, .. new byte[ToyFilter.HeadBytes]];
        }
    }

    protected override ReadOnlySpan<byte> Outgoing => _wire.AsSpan(_sent);

    protected override bool HasSentAll => _sent == _wire.Length;

    protected override bool IsOwed => HasSentAll && _received < _plain.Length && IsReading;

    /// <summary>An end without the last word is a stream that was cut.</summary>
    protected override bool IsBetweenResponses => _hadLastWord;

    protected override bool HasReceivedAll => _received == _plain.Length;

    protected override bool HasDeadlines => false;

    protected override SimulatedListener Listener => _listener;

    protected override void Take(ReadOnlySpan<byte> bytes)
    {
        var taken = new List<byte>();
        taken.AddRange(bytes);
        foreach ((List<byte> pending, byte mask) in _pending.Zip(ToyFilter.Masks))
        {
            pending.AddRange(taken);
            taken.Clear();
            _hadLastWord |= ToyFilter.Unframe(pending, mask, taken);
        }

        ReadOnlySpan<byte> expected = _plain.Span[_received..];
        if (taken.Count > expected.Length || !expected[..taken.Count].SequenceEqual(taken.ToArray()))
        {
            Fail(string.Create(CultureInfo.InvariantCulture, $"A foreign byte came back behind {_received} of {_plain.Length}."));
            return;
        }

        _received += taken.Count;
    }

    protected override void OnSent(int count)
    {
        _sent += count;
        NoteProgress();
    }

    protected override void OnSentAll()
    {
        if (PeerBehaviour is PeerBehaviour.NeverReads)
        {
            EndOutput();
        }

        base.OnSentAll();
    }
}
