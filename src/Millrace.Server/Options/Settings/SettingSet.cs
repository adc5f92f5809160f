namespace Millrace.Server.Options.Settings;

/// <summary>What one source says of all options, or several sources, each option by the one that has the last word. Immutable.</summary>
internal sealed class SettingSet
{
    private readonly Dictionary<ServerOption, Setting> _settings;

    public SettingSet(IEnumerable<Setting> settings) => _settings = settings.ToDictionary(static setting => setting.Option);

    public static SettingSet Empty { get; } = new([]);

    public IEnumerable<Setting> All => _settings.Values;

    public Setting? Find(ServerOption option) => _settings.GetValueOrDefault(option);

    /// <summary>The texts of an option; none where it has its default.</summary>
    public IEnumerable<string> TextsOf(ServerOption option) => Find(option)?.Values.Select(static value => value.Text) ?? [];

    /// <summary>These, and what another set says of the other options.</summary>
    public SettingSet Over(SettingSet lower) =>
        new(_settings.Values.Concat(lower._settings.Values.Where(setting => !_settings.ContainsKey(setting.Option))));
}
