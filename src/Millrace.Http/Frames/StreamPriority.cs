namespace Millrace.Http;

/// <summary>
/// How soon a response is wanted beside the others of its connection, RFC 9218 section 4: what the field <c>priority</c> and a
/// PRIORITY_UPDATE say.
/// </summary>
internal readonly record struct StreamPriority(int Urgency, Delivery Delivery)
{
    public const int UrgencyMax = 7;

    /// <summary>What a request asks for that says nothing.</summary>
    public static StreamPriority Default => new(3, Delivery.Whole);

    /// <summary>
    /// Reads a value, a dictionary of RFC 8941. Members that are not known, out of range or of another type are passed over
    /// (RFC 9218 section 4); of a member that comes twice the last counts. A value that is no dictionary says nothing.
    /// </summary>
    public static StreamPriority Parse(ReadOnlySpan<byte> value)
    {
        StreamPriority priority = Default;
        foreach (ReadOnlySpan<byte> member in new QuotedList(value, (byte)','))
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
