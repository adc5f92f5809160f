using Millrace.Web.Exchanges;

namespace Millrace.Server.Metrics;

/// <summary>What all reactors have counted of requests, at one moment.</summary>
internal sealed record RequestTotals
{
    /// <summary>By the first digit of the status: the element 4 are those with 4xx, the element 0 those that got no answer.</summary>
    public long[] ByClass { get; } = new long[6];

    public long NotModified { get; private set; }

    public long BodyBytes { get; private set; }

    public long[] ByOrigin { get; } = new long[RequestTally.Origins];

    /// <summary>Bodies that there were.</summary>
    public long[] ByCoding { get; } = new long[RequestTally.Codings];

    public long[] Durations { get; } = new long[DurationScale.Buckets];

    public long Requests => ByClass.Sum();

    public void Add(RequestTally tally)
    {
        for (int slot = 0; slot < StatusSlots.Count; slot++)
        {
            int status = StatusSlots.StatusAt(slot);
            long count = CountOf(tally, slot);
            ByClass[status == StatusSlots.Other ? 4 : status / 100] += count;
            NotModified += status == 304 ? count : 0;
        }

        for (int coding = 0; coding < RequestTally.Codings; coding++)
        {
            for (int origin = 0; origin < RequestTally.Origins; origin++)
            {
                long count = tally.Bodies(coding, origin);
                ByOrigin[origin] += count;
                ByCoding[coding] += origin == (int)ExchangeBody.None ? 0 : count;
            }
        }

        BodyBytes += tally.BodyBytes;
        tally.Durations.AddTo(Durations);
    }

    private static long CountOf(RequestTally tally, int slot)
    {
        long count = 0;
        for (int method = 0; method < RequestTally.Methods; method++)
        {
            for (int protocol = 0; protocol < RequestTally.Protocols; protocol++)
            {
                count += tally.Requests(method, protocol, slot);
            }
        }

        return count;
    }
}
