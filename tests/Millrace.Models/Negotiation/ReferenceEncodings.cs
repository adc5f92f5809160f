using System.Globalization;
using System.Text.RegularExpressions;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>A slow reader of Accept-Encoding: a regular expression for an element, a dictionary of weights, a sort.</summary>
internal static partial class ReferenceEncodings
{
    private static readonly (string Name, CodingSet Set, int Usual)[] Codings =
        [("gzip", CodingSet.Gzip, 3), ("br", CodingSet.Brotli, 1), ("zstd", CodingSet.Zstd, 2), ("identity", CodingSet.Identity, 4)];

    public static Dictionary<string, decimal> Read(string value)
        => value.Split(',')
            .Select(element => Element().Match(element.Trim(' ', '\t')))
            .Where(element => element.Success)
            .GroupBy(NameOf)
            .ToDictionary(elements => elements.Key, elements => elements.Min(WeightOf));

    /// <summary>Of equal weights the smallest body wins, then the usually smallest coding; identity is the last.</summary>
    public static string Choose(Dictionary<string, decimal> weights, CodingSet available, Func<string, long>? sizeOf = null)
    {
        decimal? any = weights.TryGetValue("*", out decimal weight) ? weight : null;
        decimal WeightOf(string name) => weights.TryGetValue(name, out decimal listed) ? listed : any ?? (name == "identity" ? 0.0001m : 0);

        return Codings
            .Where(coding => available.HasFlag(coding.Set) && WeightOf(coding.Name) > 0)
            .OrderByDescending(coding => WeightOf(coding.Name))
            .ThenBy(coding => coding.Name == "identity")
            .ThenBy(coding => sizeOf?.Invoke(coding.Name) ?? 0)
            .ThenBy(coding => coding.Usual)
            .Select(coding => coding.Name)
            .FirstOrDefault("406");
    }

    private static string NameOf(Match element)
        => element.Groups["name"].Value.ToLowerInvariant() is var name && name == "x-gzip" ? "gzip" : name;

    private static decimal WeightOf(Match element)
        => element.Groups["weight"] is { Success: true, Value: var weight }
            ? decimal.Parse(weight, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture)
            : 1;

    [GeneratedRegex(@"^(?<name>[!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?:[ \t]*;[ \t]*[qQ]=(?<weight>0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?\z")]
    private static partial Regex Element();
}
