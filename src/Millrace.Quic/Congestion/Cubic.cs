using Millrace.Quic.Recovery;

namespace Millrace.Quic.Congestion;

/// <summary>
/// CUBIC (RFC 9438): after congestion the window grows as a cubic function of time, quickly up to where it was reduced, slowly around that,
/// and quickly again; never slower than Reno would. Lengths are bytes, times of the formulas seconds.
/// </summary>
internal sealed class Cubic(int maximumDatagramSize) : CongestionController(maximumDatagramSize)
{
    /// <summary>C, in datagrams per cubed second (section 4.1).</summary>
    private const double Aggressiveness = 0.4;

    /// <summary>beta_cubic (section 4.6).</summary>
    private const double Decrease = 0.7;

    /// <summary>alpha_cubic: with it Reno's window has the average of one that halves (section 4.3).</summary>
    private const double RenoIncrease = 3 * (1 - Decrease) / (1 + Decrease);

    private const double Second = 1e9;

    /// <summary>No epoch: the next acknowledgement in congestion avoidance begins one.</summary>
    private const long None = long.MinValue;

    private State _state = State.Initial;
    private State _saved = State.Initial;

    protected override void Avoid(long acked, RttEstimator rtt, long now)
    {
        if (_state.EpochStart == None)
        {
            BeginEpoch(now);
        }
        else if (_state.UnderusedSince != None)
        {
            // The curve does not go on while the sender does not use its window (section 5.8).
            _state.EpochStart += now - _state.UnderusedSince;
        }

        _state.UnderusedSince = None;
        double datagram = MaximumDatagramSize;
        double window = Window + _state.Fraction;
        double elapsed = (now - _state.EpochStart) / Second;
        double increase = _state.RenoWindow < _state.PriorWindow ? RenoIncrease : 1;
        _state.RenoWindow += increase * datagram * acked / window;
        double current = CubicWindow(elapsed, datagram);
        if (current < _state.RenoWindow)
        {
            window = Math.Max(window, _state.RenoWindow);
        }
        else
        {
            double target = Math.Clamp(CubicWindow(elapsed + (rtt.Smoothed / Second), datagram), window, 1.5 * window);
            window += (target - window) * acked / window;
        }

        window = Math.Min(window, MaximumWindow);
        Window = (long)window;
        _state.Fraction = window - Window;
    }

    protected override void Reduce()
    {
        double window = Window;
        _state.PriorWindow = window;

        // Fast convergence: a window that is reduced before it is where it was leaves room to newer flows (section 4.7).
        _state.MaximumWindow = window < _state.MaximumWindow ? window * (1 + Decrease) / 2 : window;
        _state.EpochStart = None;
        _state.UnderusedSince = None;
        _state.Fraction = 0;
        Window = Math.Max((long)(window * Decrease), MinimumWindow);
        SlowStartThreshold = Window;
    }

    protected override void Save() => _saved = _state;

    protected override void Restore() => _state = _saved;

    protected override void Collapse() => _state = State.Initial;

    protected override void OnUnderused(long now)
    {
        if (_state.UnderusedSince == None)
        {
            _state.UnderusedSince = now;
        }
    }

    /// <summary>W_cubic(t) (section 4.2).</summary>
    private double CubicWindow(double elapsed, double datagram)
    {
        double distance = elapsed - _state.Inflection;
        return (Aggressiveness * datagram * distance * distance * distance) + _state.Origin;
    }

    private void BeginEpoch(long now)
    {
        double window = Window + _state.Fraction;
        _state.EpochStart = now;
        _state.RenoWindow = window;
        if (_state.MaximumWindow > window)
        {
            _state.Origin = _state.MaximumWindow;
            _state.Inflection = Math.Cbrt((_state.MaximumWindow - window) / (Aggressiveness * MaximumDatagramSize));
        }
        else
        {
            // Slow start ended without a loss, or went on beyond the last maximum: the curve begins where it is flat (section 4.8).
            _state.Origin = window;
            _state.Inflection = 0;
        }
    }

    private struct State
    {
        /// <summary>The begin of this congestion avoidance.</summary>
        public long EpochStart;

        /// <summary>Since when acknowledgements arrive while the window is not used.</summary>
        public long UnderusedSince;

        /// <summary>W_max, and the window of the curve's inflection, which is the same or the window at its begin.</summary>
        public double MaximumWindow;
        public double Origin;

        /// <summary>K, in seconds.</summary>
        public double Inflection;

        /// <summary>W_est and cwnd_prior.</summary>
        public double RenoWindow;
        public double PriorWindow;

        /// <summary>The part of the window below one byte.</summary>
        public double Fraction;

        public static State Initial => new() { EpochStart = None, UnderusedSince = None };
    }
}
