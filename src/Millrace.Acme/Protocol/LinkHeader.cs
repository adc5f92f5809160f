namespace Millrace.Acme.Protocol;

/// <summary>Link header fields (RFC 8288). What is not in their form is skipped. Stateless.</summary>
internal static class LinkHeader
{
    /// <summary>The targets that have this relation.</summary>
    public static IReadOnlyList<Uri> Targets(IEnumerable<string> fields, string relation, Uri from)
    {
        var targets = new List<Uri>();
        foreach (string field in fields)
        {
            ReadOnlySpan<char> rest = field;
            while (TryTake(ref rest, out ReadOnlySpan<char> target, out ReadOnlySpan<char> parameters))
            {
                if (HasRelation(parameters, relation) && Uri.TryCreate(from, target.ToString(), out Uri? url) && !targets.Contains(url))
                {
                    targets.Add(url);
                }
            }
        }

        return targets;
    }

    /// <summary>The next link: <c>&lt;target&gt;;parameters</c>, up to a comma that is not quoted.</summary>
    private static bool TryTake(ref ReadOnlySpan<char> rest, out ReadOnlySpan<char> target, out ReadOnlySpan<char> parameters)
    {
        target = parameters = default;
        int begin = rest.IndexOf('<');
        int end = begin < 0 ? -1 : rest[begin..].IndexOf('>') + begin;
        if (end <= begin)
        {
            return false;
        }

        target = rest[(begin + 1)..end];
        rest = rest[(end + 1)..];
        int comma = EndOfPart(rest, ',');
        parameters = rest[..comma];
        rest = rest[comma..];
        return true;
    }

    private static bool HasRelation(ReadOnlySpan<char> parameters, string relation)
    {
        while (!parameters.IsEmpty)
        {
            int end = EndOfPart(parameters, ';');
            ReadOnlySpan<char> parameter = parameters[..end].Trim();
            parameters = parameters[Math.Min(end + 1, parameters.Length)..];
            int equals = parameter.IndexOf('=');
            if (equals > 0 && parameter[..equals].Trim().Equals("rel", StringComparison.OrdinalIgnoreCase))
            {
                ReadOnlySpan<char> relations = parameter[(equals + 1)..].Trim().Trim('"');
                foreach (Range part in relations.Split(' '))
                {
                    if (relations[part].Equals(relation, StringComparison.OrdinalIgnoreCase))
                    {
                        return true;
                    }
                }

                // The first one counts (RFC 8288, section 3.3).
                return false;
            }
        }

        return false;
    }

    /// <summary>Up to a separator that is not within quotes.</summary>
    private static int EndOfPart(ReadOnlySpan<char> text, char separator)
    {
        bool quoted = false;
        for (int i = 0; i < text.Length; i++)
        {
            if (text[i] == '"')
            {
                quoted = !quoted;
            }
            else if (text[i] == '\\' && quoted)
            {
                i++;
            }
            else if (text[i] == separator && !quoted)
            {
                return i;
            }
        }

        return text.Length;
    }
}
