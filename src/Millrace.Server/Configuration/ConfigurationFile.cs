using System.Text.Json;
using Millrace.Interop.Files;
using Millrace.StaticFiles;

namespace Millrace.Server.Configuration;

/// <summary>Reads the configuration file: JSON with comments and trailing commas.</summary>
internal static class ConfigurationFile
{
    /// <summary>Far above any real file: a thousand redirects are 100 KB.</summary>
    private const int BytesMax = 16 * 1024 * 1024;

    /// <summary>The settings of the file; errors are added to <paramref name="errors"/>.</summary>
    public static FileSettings Read(string path, ICollection<OptionError> errors)
    {
        try
        {
            using FileStream stream = File.OpenRead(StartDirectory.Locate(path));
            // A pipe has no length, and a file's size may change during the read.
            byte[] bytes = new byte[stream.CanSeek ? Math.Min(stream.Length, BytesMax) + 1 : BytesMax + 1];
            int count = stream.ReadAtLeast(bytes, bytes.Length, throwOnEndOfStream: false);
            return Read(new FileText(path, bytes[..count]), errors);
        }
        catch (SiteException refusal)
        {
            AddError(refusal.Message);
        }
        catch (Exception refusal) when (refusal is FileNotFoundException or DirectoryNotFoundException)
        {
            AddError($"The configuration file '{path}' does not exist. 'millrace init {path}' writes a starter file.");
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException or ArgumentException)
        {
            bool isMistake = refusal is ArgumentException || FileProblem.IsMistake(path, refusal);
            string remedy = FileProblem.RemedyOf(refusal, isMistake ? "Name the file itself." : "Let this user read it.");
            errors.Add(new OptionError(
                new SettingOrigin(SettingSource.File),
                $"The configuration file '{path}' cannot be read: {FileProblem.Of(path, refusal)}. {remedy}")
            {
                IsHostRefusal = !isMistake,
            });
        }

        return FileSettings.Empty;

        void AddError(string text) => errors.Add(new OptionError(new SettingOrigin(SettingSource.File), text));
    }

    public static FileSettings Read(FileText file, ICollection<OptionError> errors)
    {
        if (file.BytesCount > BytesMax)
        {
            AddError(0, $"The configuration file is larger than {BytesMax / 1024 / 1024} MiB.");
        }
        else if (file.InvalidOffset is int invalid)
        {
            AddError(invalid, "The file is not UTF-8: save it in that encoding.");
        }
        else
        {
            try
            {
                return new ConfigurationReader(file, errors).Read();
            }
            catch (JsonException broken)
            {
                FilePosition position = file.At(broken.LineNumber ?? 0, broken.BytePositionInLine ?? 0);
                (FilePosition at, string text) = file.DescribeEnd() ?? (position, file.DescribeBroken(position));
                errors.Add(new OptionError(new SettingOrigin(SettingSource.File, at), text));
            }
        }

        return FileSettings.Empty;

        void AddError(int offset, string text) =>
            errors.Add(new OptionError(new SettingOrigin(SettingSource.File, file.At(offset)), text));
    }
}
