using System.Xml.Linq;

namespace Millrace.Architecture.Tests.Rules;

/// <summary>The rooms of the house: which project may refer to which. References point down only.</summary>
internal static class LayeringRules
{
    public static readonly IReadOnlyDictionary<string, string[]> Allowed = new Dictionary<string, string[]>(StringComparer.Ordinal)
    {
        ["Millrace.Server"] = ["Millrace.Acme", "Millrace.HttpServer", "Millrace.QuicTransport", "Millrace.Tls"],
        ["Millrace.AspNetCore"] = ["Millrace.Acme", "Millrace.Engine", "Millrace.QuicTransport", "Millrace.StaticFiles", "Millrace.Tls"],
        ["Millrace.HttpServer"] = ["Millrace.Engine", "Millrace.Http", "Millrace.Quic", "Millrace.QuicTransport", "Millrace.StaticFiles"],
        ["Millrace.QuicTransport"] = ["Millrace.Engine", "Millrace.Quic"],
        ["Millrace.Tls"] = ["Millrace.Engine", "Millrace.Quic"],
        ["Millrace.StaticFiles"] = ["Millrace.Http", "Millrace.Interop"],
        ["Millrace.Engine"] = ["Millrace.Interop"],
        ["Millrace.Acme"] = ["Millrace.Interop"],
        ["Millrace.Http"] = [],
        ["Millrace.Quic"] = [],
        ["Millrace.Interop"] = [],
    };

    /// <summary>What a project file refers to, against the table.</summary>
    public static IEnumerable<Finding> References(SourceFile project)
    {
        string name = Path.GetFileNameWithoutExtension(project.Path);
        if (!Allowed.TryGetValue(name, out string[]? allowed))
        {
            return [new Finding(project.Path, 1, $"{name} is no room of the house: add it to the table of {nameof(LayeringRules)}")];
        }

        return from reference in XDocument.Parse(project.Text).Descendants("ProjectReference")
               let target = Path.GetFileNameWithoutExtension(((string?)reference.Attribute("Include"))?.Replace('\\', '/'))
               where !allowed.Contains(target, StringComparer.Ordinal)
               select new Finding(project.Path, 1, $"{name} must not refer to {target}");
    }

    /// <summary>What the compiled code uses. MSBuild passes references on, so all that lies below is within reach.</summary>
    public static IEnumerable<Finding> Uses(string name, IEnumerable<string> usedAssemblies)
    {
        HashSet<string> below = Below(name);
        return from used in usedAssemblies
               where used.StartsWith("Millrace", StringComparison.OrdinalIgnoreCase) && !below.Contains(used)
               select new Finding(name, 1, $"its code uses {used}, which does not lie below it");
    }

    public static HashSet<string> Below(string name)
    {
        HashSet<string> below = new(StringComparer.Ordinal);
        Stack<string> open = new(Allowed[name]);
        while (open.TryPop(out string? next))
        {
            if (below.Add(next))
            {
                Array.ForEach(Allowed[next], open.Push);
            }
        }

        return below;
    }
}
