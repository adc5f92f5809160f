using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Creates the row of a switch. The default comes from the options themselves.</summary>
internal static class SwitchRow
{
    private const string On = "on";
    private const string Off = "off";

    public static ServerOption Of(
        string key,
        string path,
        OptionChange change,
        string help,
        Func<ServeOptions, bool> read,
        Func<ServeOptions, bool, ServeOptions> with) => new()
        {
            Key = key,
            Path = path,
            Change = change,
            Kind = OptionValueKind.Switch,
            ValueForm = $"{On}|{Off}",
            Choices = [On, Off],
            BareValue = On,
            Help = help,
            Default = read(new ServeOptions()) ? On : Off,
            Apply = (options, text) => with(options, OptionText.Switch(text)),
        };
}
