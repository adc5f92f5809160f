using System.Text.Json;
using Millrace.Server.Options.Settings;

namespace Millrace.Server.Options.Files;

/// <summary>The configuration file: JSON in which comments and trailing commas are allowed.</summary>
internal static class ConfigurationFile
{
    /// <summary>A thousand redirects are 100 KB; what is much larger was not meant.</summary>
    private const int BytesMax = 16 * 1024 * 1024;

    /// <summary>What it says; what is wrong with it is added to the complaints.</summary>
    public static FileSettings Read(string path, ICollection<Complaint> complaints)
    {
        try
        {
            using FileStream stream = File.OpenRead(path);
            // A pipe has no length, and the size of a file may change while it is read.
            byte[] bytes = new byte[stream.CanSeek ? Math.Min(stream.Length, BytesMax) + 1 : BytesMax + 1];
            int count = stream.ReadAtLeast(bytes, bytes.Length, throwOnEndOfStream: false);
            return Read(new FileText(path, bytes[..count]), complaints);
        }
        catch (Exception refusal) when (refusal is FileNotFoundException or DirectoryNotFoundException)
        {
            Complain($"The configuration '{path}' does not exist. 'millrace init {path}' writes one to begin with.");
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException or ArgumentException)
        {
            Complain($"The configuration '{path}' cannot be read: {refusal.Message}");
        }

        return FileSettings.Empty;

        void Complain(string text) => complaints.Add(new Complaint(new Origin(SettingSource.File), text));
    }

    public static FileSettings Read(FileText file, ICollection<Complaint> complaints)
    {
        if (file.Bytes.Length > BytesMax)
        {
            Complain(0, $"A configuration has {BytesMax / 1024 / 1024} MiB at most.");
        }
        else if (file.ValidBytes < file.Bytes.Length)
        {
            Complain(file.ValidBytes - file.Start, "This is not UTF-8: save the file in that encoding.");
        }
        else
        {
            try
            {
                return new ConfigurationWalk(file, complaints).Read();
            }
            catch (JsonException broken)
            {
                FilePosition position = file.At(broken.LineNumber ?? 0, broken.BytePositionInLine ?? 0);
                complaints.Add(new Complaint(new Origin(SettingSource.File, position), WithoutPosition(broken.Message)));
            }
        }

        return FileSettings.Empty;

        void Complain(int offset, string text) =>
            complaints.Add(new Complaint(new Origin(SettingSource.File, file.At(offset)), text));
    }

    private static string WithoutPosition(string message)
    {
        int position = message.IndexOf(" LineNumber:", StringComparison.Ordinal);
        return position < 0 ? message : message[..position];
    }
}
