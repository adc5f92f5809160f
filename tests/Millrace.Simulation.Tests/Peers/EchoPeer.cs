using System.Globalization;
using Millrace.Simulation.Tests.Kernel;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Peers;

/// <summary>Sends bytes that are its own alone, and must get them back, all and in order.</summary>
internal sealed class EchoPeer : Peer
{
    private readonly SimulatedListener _listener;
    private readonly ReadOnlyMemory<byte> _bytes;
    private int _sent;
    private int _received;

    public EchoPeer(World world, SimulationRun run, int number, PeerBehaviour behaviour, SimulatedListener listener)
        : base(world, run, number, behaviour)
    {
        _listener = listener;
        int pieceBytes = Math.Min(world.Shape.SendPieceBytes, world.Shape.ChunkBytes);
        _bytes = Marker.Of(number + 1)[..world.Random.Between(1, Math.Min(200 * pieceBytes, 300_000))];
    }

    protected override ReadOnlySpan<byte> Outgoing => _bytes.Span[_sent..];

    protected override bool HasSentAll => _sent == _bytes.Length;

    protected override bool IsOwed => _received < _sent && IsReading;

    protected override bool IsBetweenResponses => true;

    protected override bool HasReceivedAll => _received == _bytes.Length;

    protected override bool HasDeadlines => false;

    protected override SimulatedListener Listener => _listener;

    protected override void Take(ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> expected = _bytes.Span[_received.._sent];
        int same = bytes.CommonPrefixLength(expected);
        if (same < bytes.Length)
        {
            Fail(string.Create(CultureInfo.InvariantCulture, $"A foreign byte came back at {_received + same} of {_sent}."));
            return;
        }

        _received += bytes.Length;
    }

    protected override void OnSent(int count)
    {
        if (_received == _sent)
        {
            NoteProgress();
        }

        _sent += count;
    }

    protected override void OnSentAll()
    {
        // An echo has no deadline for its peer: who would only wait has to say that it was all.
        if (PeerBehaviour is PeerBehaviour.NeverReads)
        {
            EndOutput();
        }

        base.OnSentAll();
    }
}
