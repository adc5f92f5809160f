namespace Millrace.Server.Options.Settings;

/// <summary>What one source says of one option.</summary>
/// <param name="Option">The option.</param>
/// <param name="Origin">Where it was named.</param>
/// <param name="Values">Its texts. None: it has its default, whatever sources with less to say have said.</param>
internal sealed record Setting(ServerOption Option, Origin Origin, IReadOnlyList<SettingValue> Values)
{
    /// <summary>The option as it is called there.</summary>
    public string Name => Origin.NameOf(Option);
}

/// <summary>A text, and where it stands.</summary>
internal sealed record SettingValue(string Text, Origin Origin);
