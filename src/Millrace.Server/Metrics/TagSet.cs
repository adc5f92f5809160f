namespace Millrace.Server.Metrics;

/// <summary>The tags of a measurement as labels of a series, sorted by name so that their order does not matter.</summary>
internal sealed class TagSet
{
    private readonly KeyValuePair<string, object?>[] _asGiven;

    public TagSet(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        _asGiven = tags.ToArray();
        Labels = [.. _asGiven.Select(static tag => (tag.Key, Text(tag.Value))).OrderBy(static label => label.Key, StringComparer.Ordinal)];
    }

    public IReadOnlyList<(string Name, string Value)> Labels { get; }

    /// <summary>
    /// Whether a measurement has exactly these tags in the same order, as one call site always writes them. Allocates nothing.
    /// </summary>
    public bool Matches(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        if (tags.Length != _asGiven.Length)
        {
            return false;
        }

        for (int i = 0; i < tags.Length; i++)
        {
            if (tags[i].Key != _asGiven[i].Key || !Equals(tags[i].Value, _asGiven[i].Value))
            {
                return false;
            }
        }

        return true;
    }

    private static string Text(object? value) => value switch
    {
        null => "",
        bool truth => truth ? "true" : "false",
        IFormattable number => number.ToString(null, System.Globalization.CultureInfo.InvariantCulture),
        _ => value.ToString() ?? "",
    };
}
