using Millrace.Simulation.Tests.Kernel;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Peers;

/// <summary>How a head is sent that never ends, and whether the server ends it at its time: by the rate, or by its deadline.</summary>
internal sealed class Trickle
{
    /// <summary>What the server's arithmetic in whole milliseconds may be off, look by look.</summary>
    private const int RoundingMs = 50;

    private readonly World _world;
    private readonly Credit _credit;
    private double _leftAtResponseMs = double.NaN;

    public Trickle(World world)
    {
        _world = world;
        _credit = new Credit(world.Shape.HttpLimits.ReceiveStall, world.Shape.HttpLimits.ReceiveBytesPerSecond);
        int headMs = (int)world.Shape.HttpLimits.Head.TotalMilliseconds;
        PauseMs = world.Random.Pick<int>(50, 300, headMs / 12, headMs / 3);
        int perCent = world.Random.Pick<int>(0, 50, 90, 120);
        PieceBytes = Math.Max(1, world.Shape.HttpLimits.ReceiveBytesPerSecond * perCent * PauseMs / 100_000);
    }

    public int PauseMs { get; }

    public int PieceBytes { get; }

    /// <summary>Whether it was too slow when it was answered.</summary>
    public bool WasTooSlow => _leftAtResponseMs <= RoundingMs;

    /// <summary>Whether it is still there, although it is too slow for longer than takes notice.</summary>
    public bool IsOverdue => double.IsNaN(_leftAtResponseMs)
        && _credit.LeftMs(_world.NowMs) + (3 * _credit.WindowMs / 8) + _world.Shape.SlackMs < 0;

    /// <summary>Bytes of the head have reached the server.</summary>
    public void OnDelivered(int count)
    {
        if (_credit.IsRunning)
        {
            _credit.Take(_world.NowMs, count);
        }
        else
        {
            // The first ones begin the wait, and are none that it brings.
            _credit.Run(_world.NowMs);
        }
    }

    public void OnAnswered()
    {
        if (double.IsNaN(_leftAtResponseMs) && _credit.IsRunning)
        {
            _leftAtResponseMs = _credit.LeftMs(_world.NowMs);
        }
    }
}
