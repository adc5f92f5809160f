using System.Collections;
using System.Text.RegularExpressions;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Settings;

/// <summary>What the environment says: <c>MILLRACE_LISTEN=8080</c>. An option that may be repeated has a line for each time.</summary>
internal static partial class VariableSettings
{
    private const string Prefix = ServerOption.VariablePrefix;

    /// <summary>The variable that names the file.</summary>
    public const string File = Prefix + "CONFIG";

    /// <summary>
    /// Other variables with the prefix are no mistakes, as Kubernetes makes some for each service whose name begins so; those that are
    /// nearly an option's are. An empty one says nothing.
    /// </summary>
    public static SettingSet Read(IDictionary variables, ICollection<Complaint> complaints)
    {
        string[] known = [.. OptionTable.All.Select(static option => option.Variable), File];
        foreach (string name in variables.Keys.Cast<string>().Where(static name => name.StartsWith(Prefix, StringComparison.Ordinal)))
        {
            string? near = Spelling.Nearest(name[Prefix.Length..], known.Select(static one => one[Prefix.Length..]));
            if (near is not null && !known.Contains(name) && !OfKubernetes().IsMatch(name))
            {
                complaints.Add(new Complaint(Origin.Variable, $"{name} is not an option. Did you mean {Prefix}{near}?"));
            }
        }

        return new SettingSet(
            from option in OptionTable.All
            let values = TextsOf(option, variables[option.Variable] as string ?? "")
            where values.Count > 0
            select new Setting(option, Origin.Variable, values));
    }

    private static List<SettingValue> TextsOf(ServerOption option, string value)
    {
        string[] texts = option.Occurrence == OptionOccurrence.Repeatable
            ? value.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)
            : value.Length > 0 ? [value] : [];
        return [.. texts.Select(static text => new SettingValue(text, Origin.Variable))];
    }

    /// <summary>What a pod is given for each service: MILLRACE_ADMIN_PORT for one called millrace-admin.</summary>
    [GeneratedRegex("_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.+)?)?)$", RegexOptions.ExplicitCapture)]
    private static partial Regex OfKubernetes();
}
