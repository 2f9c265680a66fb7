;;; session.el --- a session with dape  -*- lexical-binding: t; -*-

;; Started by emacs.sh in a folder with loop.c, a.out of it, and manual.el, the manual's configuration.

;; Needs a compiler.
(setq native-comp-jit-compilation nil
      native-comp-enable-subr-trampolines nil)
(require 'dape)
(load (expand-file-name "manual.el") nil t)
(setq dape-repl-echo-shell-output nil)

(defvar step 0)

(defun wait (what condition)
  "Wait until CONDITION gives something; WHAT is for people."
  (let ((end (+ (float-time) 20)) value)
    (while (not (setq value (funcall condition)))
      (when (> (float-time) end)
        (error "Not seen within 20 s: %s" what))
      (accept-process-output nil 0.01))
    (setq step (1+ step))
    (princ (format "ok %d %s\n" step what))
    value))

(defun line-of (marker)
  "The line of the source that MARKER marks."
  (save-excursion
    (goto-char (point-min))
    (re-search-forward (format "//@ %s\\_>" marker))
    (line-number-at-pos)))

(defun stopped-at (marker)
  "Wait until the program is stopped at MARKER, and point with it."
  (wait (format "the program stops at %s, and point is there" marker)
        (lambda ()
          (and (dape--live-connection 'stopped t)
               (= (line-number-at-pos) (line-of marker))))))

(defun has (mode index text)
  "Whether the info buffer of MODE and INDEX has TEXT."
  (let ((buffer (dape--info-get-live-buffer mode index)))
    (and buffer
         (with-current-buffer buffer
           (save-excursion (goto-char (point-min)) (re-search-forward text nil t))))))

(defun repl-has (text)
  "Whether the REPL has TEXT."
  (with-current-buffer "*dape-repl*"
    (save-excursion (goto-char (point-min)) (search-forward text nil t))))

(defun start ()
  "Start as a person does by \\[dape]."
  (cl-letf (((symbol-function 'read-from-minibuffer) (lambda (&rest _) "stillpoint")))
    (call-interactively #'dape)))

(defun session ()
  "Debug loop.c."
  (find-file "loop.c")
  (goto-char (point-min))
  (forward-line (1- (line-of "body")))
  (dape-breakpoint-toggle)
  (start)
  (stopped-at "body")
  (dape-info)
  (wait "the scope shows arguments" (lambda () (has 'dape-info-scope-mode 0 "scale +10")))
  (wait "the stack shows callers" (lambda () (has 'dape-info-stack-mode nil "main")))
  (wait "the breakpoint is shown at its line"
        (lambda () (has 'dape-info-breakpoints-mode nil (format "loop.c:%d" (line-of "body")))))
  (dape-next (dape--live-connection 'stopped))
  (stopped-at "body_return")
  (wait "a value of the step is shown" (lambda () (has 'dape-info-scope-mode 0 "product +0")))
  (dape-evaluate-expression (dape--live-connection 'last) "scale * 4 + 2")
  (wait "an expression is evaluated" (lambda () (repl-has "42")))
  (let* ((connection (dape--live-connection 'stopped))
         (scope (car (plist-get (dape--current-stack-frame connection) :scopes))))
    (dape--set-variable connection (plist-get scope :variablesReference)
                        (list :name "product" :evaluateName "product") "1000"))
  (wait "a value is changed" (lambda () (has 'dape-info-scope-mode 0 "product +1000")))
  ;; Dape has no commands for steps back.
  (dape-evaluate-expression (dape--live-connection 'stopped) ":past 1")
  (stopped-at "body")
  (dape-evaluate-expression (dape--live-connection 'stopped) ":past present")
  (stopped-at "body_return")
  (wait "the change is still there" (lambda () (has 'dape-info-scope-mode 0 "product +1000")))
  (dape-step-out (dape--live-connection 'stopped))
  (stopped-at "call")
  (call-interactively #'dape-restart)
  (stopped-at "body")
  (wait "it begins with the first pass" (lambda () (has 'dape-info-scope-mode 0 "i +0")))
  (dape-breakpoint-remove-all)
  (dape-continue (dape--live-connection 'stopped))
  (wait "the output is shown" (lambda () (repl-has "105")))
  (wait "the session ends" (lambda () (not (dape--live-connection 'parent t))))
  (wait "the debugger ends" (lambda () (not (member "dape adapter" (mapcar #'process-name (process-list)))))))

(condition-case failure
    (session)
  (error
   (princ (format "FAILED: %s\n" (error-message-string failure)))
   (when (get-buffer "*dape-repl*")
     (princ (with-current-buffer "*dape-repl*" (buffer-string))))
   (kill-emacs 1)))
(kill-emacs 0)
;;; session.el ends here
