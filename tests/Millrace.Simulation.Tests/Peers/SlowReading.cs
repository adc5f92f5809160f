using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Peers;

/// <summary>Reads a piece, and then nothing for a while: in all faster than it must, or slower.</summary>
internal sealed class SlowReading
{
    private readonly World _world;
    private readonly int _pauseMs;
    private readonly int _pieceBytes;
    private long _nextAtMs;
    private int _leftBytes;

    public SlowReading(World world)
    {
        _world = world;
        int stallMs = (int)world.Shape.Limits.WriteStall.TotalMilliseconds;
        _pauseMs = world.Random.Pick<int>(100, 1_000, stallMs / 10, stallMs / 3, stallMs * 9 / 10);
        int perCent = world.Random.Pick<int>(10, 50, 90, 110, 150, 500);
        long pieceBytes = (long)Math.Max(500, world.Shape.Limits.WriteBytesPerSecond) * perCent * _pauseMs / 100_000;
        _leftBytes = _pieceBytes = (int)Math.Clamp(pieceBytes, 1, 10_000_000);
    }

    /// <summary>Whether the present pause is over.</summary>
    public bool MayRead => _leftBytes > 0 || _world.NowMs >= _nextAtMs;

    /// <summary>How many of so many bytes it reads now, and when it looks again.</summary>
    public int Take(int bytes, out long againAtMs)
    {
        if (_leftBytes == 0 && _world.NowMs >= _nextAtMs)
        {
            _leftBytes = _pieceBytes;
        }

        int count = Math.Min(bytes, _leftBytes);
        _leftBytes -= count;
        if (count > 0 && _leftBytes == 0)
        {
            _nextAtMs = _world.NowMs + _pauseMs;
        }

        againAtMs = _nextAtMs;
        return count;
    }
}
