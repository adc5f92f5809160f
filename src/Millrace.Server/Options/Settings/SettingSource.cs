namespace Millrace.Server.Options.Settings;

/// <summary>Who may say options; the earlier ones have the last word.</summary>
internal enum SettingSource
{
    Flag,
    Variable,
    File,
}
