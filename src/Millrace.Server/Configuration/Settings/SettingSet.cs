namespace Millrace.Server.Configuration.Settings;

/// <summary>The settings of one source, or of several merged by precedence. Immutable.</summary>
internal sealed class SettingSet
{
    private readonly Dictionary<ServerOption, Setting> _settings;

    public SettingSet(IEnumerable<Setting> settings) => _settings = settings.ToDictionary(static setting => setting.Option);

    public static SettingSet Empty { get; } = new([]);

    public IEnumerable<Setting> All => _settings.Values;

    public Setting? Find(ServerOption option) => _settings.GetValueOrDefault(option);

    /// <summary>The texts of an option; empty for the default.</summary>
    public IEnumerable<string> TextsOf(ServerOption option) => Find(option)?.Values.Select(static value => value.Text) ?? [];

    /// <summary>Merges with a set of lower precedence.</summary>
    public SettingSet Over(SettingSet lower) =>
        new(_settings.Values.Concat(lower._settings.Values.Where(setting => !_settings.ContainsKey(setting.Option))));
}
