using Millrace.Server.Options.Settings;

namespace Millrace.Server.Options.Files;

/// <summary>What a file says.</summary>
/// <param name="Shared">Of the server, and of all its sites.</param>
/// <param name="Hosts">Of single virtual hosts, by name.</param>
internal sealed record FileSettings(SettingSet Shared, IReadOnlyDictionary<string, SettingSet> Hosts)
{
    public static FileSettings Empty { get; } = new(SettingSet.Empty, new Dictionary<string, SettingSet>());
}
