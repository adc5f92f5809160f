using Millrace.Quic.Congestion;
using Millrace.Quic.Recovery;

namespace Millrace.Quic.Tests.Congestion;

/// <summary>A controller with a scripted clock, whose packets are sent, acknowledged and lost in order.</summary>
internal sealed class ControllerDriver
{
    public const long Millisecond = 1_000_000;
    public const int Datagram = 1200;

    private readonly Queue<long> _inFlight = new();
    private readonly RttEstimator _rtt = new();

    public ControllerDriver(CongestionAlgorithm algorithm, long rtt = 100 * Millisecond)
    {
        Controller = CongestionController.Create(algorithm, Datagram);
        Sample(rtt);
    }

    public CongestionController Controller { get; }

    public long Now { get; set; } = 1000 * Millisecond;

    public int InFlight => _inFlight.Count;

    public double Segments => (double)Controller.Window / Datagram;

    public void Sample(long rtt) => _rtt.Update(rtt, 0, 0, Now);

    /// <summary>Sends packets until the window is full; the first of them now, all at different times.</summary>
    public void Fill()
    {
        while (Controller.CanSend(Datagram))
        {
            Send();
        }
    }

    public void Send()
    {
        Controller.OnPacketSent(Datagram, Now);
        _inFlight.Enqueue(Now++);
    }

    /// <summary>One ACK frame for the oldest packets.</summary>
    public void Ack(int count, bool hasSample = false)
    {
        for (int i = 0; i < count; i++)
        {
            Controller.OnPacketAcked(Datagram, _inFlight.Dequeue());
        }

        Controller.OnAckProcessed(_rtt, hasSample, Now);
    }

    /// <summary>The oldest packet is lost; returns the number of the congestion event.</summary>
    public int Lose()
    {
        Controller.OnPacketLost(Datagram);
        return Controller.OnCongestion(_inFlight.Dequeue(), Now++);
    }

    /// <summary>One round-trip time: the window is filled, and each two packets are acknowledged after it.</summary>
    public void Round(long rtt = 100 * Millisecond, bool hasSample = false)
    {
        Fill();
        int count = _inFlight.Count;
        long start = Now;
        for (int i = 0; i < count; i += 2)
        {
            Now = start + rtt + (i * (rtt / Math.Max(1, count)) / 10);
            if (hasSample)
            {
                Sample(rtt);
            }

            Ack(Math.Min(2, count - i), hasSample);
            Fill();
        }
    }

    /// <summary>Ends slow start: one packet is lost, and what was sent before is acknowledged.</summary>
    public void EnterAvoidance(int windows = 0)
    {
        for (int i = 0; i < windows; i++)
        {
            Round();
        }

        Fill();
        Lose();
        while (_inFlight.Count > 0)
        {
            Ack(1);
        }
    }
}
