using System.Globalization;
using Millrace.StaticFiles;

namespace Millrace.Server.Configuration;

/// <summary>What one source sets for one option. No values: the default, even if a source of lower precedence sets others.</summary>
internal sealed record Setting(ServerOption Option, SettingOrigin Origin, IReadOnlyList<SettingValue> Values);

internal sealed record SettingValue(string Text, SettingOrigin Origin);

/// <summary>The origin of a setting; flags and variables have no position.</summary>
internal sealed record SettingOrigin(SettingSource Source, FilePosition? Position = null)
{
    public static SettingOrigin Flag { get; } = new(SettingSource.Flag);

    public static SettingOrigin Variable { get; } = new(SettingSource.Variable);

    public string NameOf(ServerOption option) => Source switch
    {
        SettingSource.Flag => option.Flag,
        SettingSource.Variable => option.Variable,
        _ => option.Path,
    };

    public string NameOf(string key) => NameOf(OptionTable.Get(key));

    /// <summary>How a switch is switched on.</summary>
    public string SwitchedOn(string key) => Source == SettingSource.File ? $"{NameOf(key)}: true" : $"{NameOf(key)} on";
}

/// <summary>The sources of options, in order of precedence.</summary>
internal enum SettingSource
{
    Flag,
    Variable,
    File,
}

/// <summary>A position in a file, counted from 1 as in editors and compilers.</summary>
internal sealed record FilePosition(string Path, int Line, int Column)
{
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Path}:{Line}:{Column}");
}

/// <summary>The settings of one source, or of several merged by precedence. Immutable.</summary>
internal sealed class SettingSet(IEnumerable<Setting> settings)
{
    private readonly Dictionary<string, Setting> _settings = settings.ToDictionary(static setting => setting.Option.Key);

    public static SettingSet Empty { get; } = new([]);

    public IEnumerable<Setting> All => _settings.Values;

    public Setting? Find(string key) => _settings.GetValueOrDefault(key);

    public IEnumerable<string> TextsOf(ServerOption option) => Find(option.Key)?.Values.Select(static value => value.Text) ?? [];

    public SettingSet Over(SettingSet lower) => new(_settings.Values.UnionBy(lower._settings.Values, static setting => setting.Option.Key));
}

/// <summary>An error in a setting, in one line: position, cause and remedy.</summary>
internal sealed record OptionError(SettingOrigin Origin, string Text)
{
    /// <summary>Whether the host refuses something, as opposed to a mistake.</summary>
    public bool IsHostRefusal { get; init; }

    public static OptionError About(ServerOption option, SettingOrigin origin, SiteException refusal) =>
        new(origin, OptionNames.In($"{origin.NameOf(option)}: {refusal.Cause} {refusal.Remedy}".TrimEnd(), origin.NameOf));

    public override string ToString() => Origin.Position is { } position ? $"{position}: {Text}" : Text;
}
