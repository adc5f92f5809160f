namespace Millrace.Quic.Tests.Congestion;

/// <summary>
/// CUBIC as RFC 9438 writes it, a second time: in segments and seconds, with the RFC's names, one acknowledged segment after the other. The
/// sender always uses its window.
/// </summary>
internal sealed class CubicModel(double cwnd)
{
    private const double C = 0.4;
    private const double Beta = 0.7;

    private double _wMax;
    private double _wEst;
    private double _cwndPrior;
    private double _k;
    private double _ssthresh = double.PositiveInfinity;
    private double? _epoch;

    public double Cwnd { get; private set; } = cwnd;

    public void Ack(int segments, double now, double rtt)
    {
        if (Cwnd < _ssthresh)
        {
            Cwnd = Math.Min(Cwnd + segments, _ssthresh);
            return;
        }

        if (_epoch is null)
        {
            _epoch = now;
            _wEst = Cwnd;
            if (_wMax <= Cwnd)
            {
                _wMax = Cwnd;
            }

            _k = Math.Pow((_wMax - Cwnd) / C, 1.0 / 3);
        }

        double t = now - _epoch.Value;
        for (int i = 0; i < segments; i++)
        {
            double alpha = _wEst >= _cwndPrior ? 1 : 3 * (1 - Beta) / (1 + Beta);
            _wEst += alpha / Cwnd;
            double target = Math.Min(Math.Max(W(t + rtt), Cwnd), 1.5 * Cwnd);
            Cwnd = W(t) < _wEst ? Math.Max(Cwnd, _wEst) : Cwnd + ((target - Cwnd) / Cwnd);
        }
    }

    public void Lose()
    {
        _cwndPrior = Cwnd;
        _wMax = Cwnd < _wMax ? Cwnd * (1 + Beta) / 2 : Cwnd;
        _ssthresh = Math.Max(2, Cwnd * Beta);
        Cwnd = _ssthresh;
        _epoch = null;
    }

    private double W(double t) => (C * Math.Pow(t - _k, 3)) + _wMax;
}
