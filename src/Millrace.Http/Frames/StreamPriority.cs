namespace Millrace.Http;

/// <summary>
/// The priority of a response among those of its connection, RFC 9218 section 4: the content of the field <c>priority</c> and of a
/// PRIORITY_UPDATE.
/// </summary>
internal readonly record struct StreamPriority(int Urgency, Delivery Delivery)
{
    public const int UrgencyMax = 7;

    /// <summary>The priority of a request that does not state one.</summary>
    public static StreamPriority Default => new(3, Delivery.Whole);

    /// <summary>
    /// Reads a value, a dictionary of RFC 8941. Members that are unknown, out of range or of another type are ignored (RFC 9218 section 4);
    /// of a repeated member the last one applies. A value that is not a dictionary gives the default.
    /// </summary>
    public static StreamPriority Parse(ReadOnlySpan<byte> value)
    {
        StreamPriority priority = Default;
        foreach (ReadOnlySpan<byte> member in new ElementList(value, hasQuotes: true))
        {
            if (member.IsEmpty)
            {
                return value.Trim(" \t"u8).IsEmpty ? priority : Default;
            }

            priority = priority.With(WithoutParameters(member));
        }

        return priority;
    }

    private StreamPriority With(ReadOnlySpan<byte> member) => member switch
    {
        [(byte)'u', (byte)'=', >= (byte)'0' and <= (byte)'7'] => this with { Urgency = member[2] - '0' },
        [(byte)'i'] or [(byte)'i', (byte)'=', (byte)'?', (byte)'1'] => this with { Delivery = Delivery.Incremental },
        [(byte)'i', (byte)'=', (byte)'?', (byte)'0'] => this with { Delivery = Delivery.Whole },
        _ => this,
    };

    private static ReadOnlySpan<byte> WithoutParameters(ReadOnlySpan<byte> member)
    {
        int semicolon = member.IndexOf((byte)';');
        return semicolon < 0 ? member : member[..semicolon];
    }
}

/// <summary>What a client can do with a part of a response, RFC 9218 section 4.2.</summary>
internal enum Delivery : byte
{
    /// <summary>Little: sending one response after the other is best, as for scripts and style sheets.</summary>
    Whole,

    /// <summary>It can show the part: responses of the same urgency share the bandwidth, as images do.</summary>
    Incremental,
}
