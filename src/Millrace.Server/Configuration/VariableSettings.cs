using System.Collections;
using System.Text.RegularExpressions;

namespace Millrace.Server.Configuration;

/// <summary>Reads settings from environment variables: <c>MILLRACE_LISTEN=8080</c>. A repeatable option has one value per line.</summary>
internal static partial class VariableSettings
{
    private const string Prefix = ServerOption.VariablePrefix;

    /// <summary>The variable that names the configuration file.</summary>
    public const string File = Prefix + "CONFIG";

    /// <summary>
    /// Unknown variables with the prefix are ignored, as Kubernetes sets some for each service whose name begins so; a misspelt option is
    /// an error. An empty variable is ignored.
    /// </summary>
    public static SettingSet Read(IDictionary variables, ICollection<OptionError> errors)
    {
        string[] known = [.. OptionTable.All.Select(static option => option.Variable), File];
        foreach (string name in variables.Keys.Cast<string>().Where(static name => name.StartsWith(Prefix, StringComparison.Ordinal)))
        {
            string? near = SpellingSuggestion.Nearest(name[Prefix.Length..], known.Select(static one => one[Prefix.Length..]));
            if (near is not null && !known.Contains(name) && !OfKubernetes().IsMatch(name))
            {
                errors.Add(new OptionError(SettingOrigin.Variable, $"{name} is not an option. Did you mean {Prefix}{near}?"));
            }
        }

        return new SettingSet(
            from option in OptionTable.All
            let values = TextsOf(option, variables[option.Variable] as string ?? "")
            where values.Count > 0
            select new Setting(option, SettingOrigin.Variable, values));
    }

    private static List<SettingValue> TextsOf(ServerOption option, string value)
    {
        string[] texts = option.Occurrence == OptionOccurrence.Repeatable
            ? value.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)
            : value.Length > 0 ? [value] : [];
        return [.. texts.Select(static text => new SettingValue(text, SettingOrigin.Variable))];
    }

    /// <summary>Variables that Kubernetes sets in a pod for each service: MILLRACE_ADMIN_PORT for a service named millrace-admin.</summary>
    [GeneratedRegex("_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.+)?)?)$", RegexOptions.ExplicitCapture)]
    private static partial Regex OfKubernetes();
}
