namespace Millrace.Server.Configuration.Settings;

/// <summary>The values that one source sets for one option.</summary>
/// <param name="Option">The option.</param>
/// <param name="Origin">The source of the option.</param>
/// <param name="Values">Its texts. Empty: the default, even if a source of lower precedence sets others.</param>
internal sealed record Setting(ServerOption Option, SettingOrigin Origin, IReadOnlyList<SettingValue> Values)
{
    /// <summary>The option's name in that source.</summary>
    public string Name => Origin.NameOf(Option);
}

/// <summary>A text and its origin.</summary>
internal sealed record SettingValue(string Text, SettingOrigin Origin);
