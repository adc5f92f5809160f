using Millrace.HttpServer.Exchanges;

namespace Millrace.Server.Metrics;

/// <summary>The sums of all reactors' tallies at one moment.</summary>
internal sealed record RequestTotals
{
    /// <summary>By the first digit of the status: element 4 counts 4xx, element 0 requests without a response.</summary>
    public long[] ByClass { get; } = new long[6];

    public long NotModified { get; private set; }

    public long BodyBytes { get; private set; }

    public long[] ByOrigin { get; } = new long[RequestTally.Origins];

    /// <summary>Responses with a body.</summary>
    public long[] ByCoding { get; } = new long[RequestTally.Codings];

    public long[] Durations { get; } = new long[DurationScale.Buckets];

    public long Requests => ByClass.Sum();

    public void Add(RequestTally tally)
    {
        for (int slot = 0; slot < StatusIndex.Count; slot++)
        {
            int status = StatusIndex.StatusAt(slot);
            long count = CountOf(tally, slot);
            ByClass[status == StatusIndex.Other ? 4 : status / 100] += count;
            NotModified += status == 304 ? count : 0;
        }

        for (int coding = 0; coding < RequestTally.Codings; coding++)
        {
            for (int origin = 0; origin < RequestTally.Origins; origin++)
            {
                long count = tally.Bodies(coding, origin);
                ByOrigin[origin] += count;
                ByCoding[coding] += origin == (int)ResponseBodySource.None ? 0 : count;
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
