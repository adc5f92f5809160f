namespace Millrace.Http;

/// <summary>Chooses a content coding by what Accept-Encoding allows and prefers (RFC 9110 section 12.5.3).</summary>
/// <remarks>
/// A malformed element is ignored. Of a coding named twice the lower weight applies, so that no refusal is overlooked. Identity is
/// acceptable without being named, but is then the last choice.
/// </remarks>
internal static class AcceptEncoding
{
    private const int Any = ContentCodings.Count;
    private const int Unlisted = int.MaxValue;

    // Only weight 0 is lower, and identity is the last in the order.
    private const int NotRefused = 1;

    /// <summary>
    /// Chooses the acceptable coding with the highest weight. False if none of the available codings is acceptable, not even identity
    /// (406). Of equal weights the coding that is usually smallest is chosen.
    /// </summary>
    public static bool TryChoose(ReadOnlySpan<byte> value, CodingSet available, out ContentCoding coding) =>
        TryChoose(value, available, CodingOrder.Usual, out coding);

    /// <summary>The same; of equal weights the coding that is first in the order.</summary>
    public static bool TryChoose(
        ReadOnlySpan<byte> value, CodingSet available, ReadOnlySpan<ContentCoding> order, out ContentCoding coding)
    {
        Span<int> weights = stackalloc int[ContentCodings.Count + 1];
        weights.Fill(Unlisted);
        Read(value, weights);

        coding = ContentCoding.Identity;
        int best = 0;
        foreach (ContentCoding candidate in order)
        {
            int weight = available.Has(candidate) ? WeightOf(candidate, weights) : 0;
            if (weight > best)
            {
                best = weight;
                coding = candidate;
            }
        }

        return best > 0;
    }

    /// <summary>
    /// Whether a coding with a dictionary may be sent in place of another one that was chosen: it is named, and has no lower weight. The
    /// asterisk does not stand for it, as its clients name it.
    /// </summary>
    public static bool PrefersDictionary(ReadOnlySpan<byte> value, ContentCoding coding, ContentCoding chosen)
    {
        Span<int> weights = stackalloc int[ContentCodings.Count + 1];
        weights.Fill(Unlisted);
        Read(value, weights);
        int weight = weights[(int)coding];
        return weight is > 0 and not Unlisted && weight >= WeightOf(chosen, weights);
    }

    private static int WeightOf(ContentCoding coding, ReadOnlySpan<int> weights)
    {
        int weight = weights[(int)coding] != Unlisted ? weights[(int)coding] : weights[Any];
        return weight != Unlisted ? weight
            : coding == ContentCoding.Identity ? NotRefused
            : 0;
    }

    private static void Read(ReadOnlySpan<byte> value, Span<int> weights)
    {
        foreach (ReadOnlySpan<byte> element in new ElementList(value))
        {
            int semicolon = element.IndexOf((byte)';');
            ReadOnlySpan<byte> name = semicolon < 0 ? element : element[..semicolon].TrimEnd(" \t"u8);
            int weight = Weight.Max;
            if (semicolon >= 0 && !Weight.TryRead(element[(semicolon + 1)..].TrimStart(" \t"u8), out weight))
            {
                continue;
            }

            if (ContentCodings.TryRecognize(name, out ContentCoding coding))
            {
                weights[(int)coding] = Math.Min(weights[(int)coding], weight);
            }
            else if (name.SequenceEqual("*"u8))
            {
                weights[Any] = Math.Min(weights[Any], weight);
            }
        }
    }
}

/// <summary>Quality values (RFC 9110 section 12.4.2) in thousandths.</summary>
internal static class Weight
{
    /// <summary>The weight of an element without one.</summary>
    public const int Max = 1000;

    /// <summary>Whether a parameter, <c>name=value</c>, is a weight, valid or not.</summary>
    public static bool IsWeight(ReadOnlySpan<byte> parameter)
        => parameter.Length >= 2 && (parameter[0] | 0x20) == 'q' && parameter[1] == '=';

    /// <summary>Reads <c>q=0.5</c>: 0 to 1 with up to three decimals.</summary>
    public static bool TryRead(ReadOnlySpan<byte> parameter, out int weight)
    {
        weight = 0;
        if (!IsWeight(parameter))
        {
            return false;
        }

        ReadOnlySpan<byte> value = parameter[2..];
        if (value.Length is < 1 or > 5 || value[0] is not ((byte)'0' or (byte)'1') || (value.Length > 1 && value[1] != '.'))
        {
            return false;
        }

        weight = (value[0] - '0') * Max;
        int unit = Max;
        for (int at = 2; at < value.Length; at++)
        {
            int digit = value[at] - '0';
            if (digit is < 0 or > 9)
            {
                return false;
            }

            unit /= 10;
            weight += digit * unit;
        }

        return weight <= Max;
    }
}
